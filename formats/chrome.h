/*
 * chrome.h - the importer of trace events of any other producer.
 */
#ifndef CHROME_H
#define CHROME_H

#include "analysis.h"

extern const struct tl_importer chrome_importer;

#endif
