/*
 * slices.h - private: SQL that finds the slices of one source by the index of its tracks.
 *
 * Joined the other way round (tracks of the source, then slices of each), SQLite may think an index or a
 * Bloom filter of its own over the slices of all sources worth its while: with a source a rank, the time
 * for all of them then grows with their square.
 */
#ifndef TL_SLICES_H
#define TL_SLICES_H

#define TL_SLICES_AND_TRACKS "slice a CROSS JOIN track k USING (track_id)"
/* To be followed by what kinds of tracks are meant, and a bracket: "= 'device')". ?1: the source. */
#define TL_OF_SOURCE "a.track_id IN (SELECT track_id FROM track WHERE source_id = ?1 AND kind "

#endif
