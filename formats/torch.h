/*
 * torch.h - the importer of PyTorch's profiler traces.
 */
#ifndef TORCH_H
#define TORCH_H

#include "analysis.h"

extern const struct tl_importer torch_importer;

#endif
