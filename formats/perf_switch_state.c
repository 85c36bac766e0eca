/*
 * perf_switch_state.c - letters of a thread's state, of all kernels, to a state. Letters that have
 * meant different things have meant the same to a scheduler's reader; unknown ones stay unknown.
 */
#include "perf_switch_state.h"

#include <string.h>

enum tl_switch_state perf_switch_state(const char *letters, size_t len)
{
	static const struct {
		char letter;
		enum tl_switch_state state;
	} known[] = { { 'X', TL_SWITCH_EXITING },
		      { 'Z', TL_SWITCH_EXITING },
		      { 'x', TL_SWITCH_EXITING },
		      { 'I', TL_SWITCH_IDLE },
		      { 'N', TL_SWITCH_IDLE },
		      { 'P', TL_SWITCH_PARKED },
		      { 'T', TL_SWITCH_STOPPED },
		      { 't', TL_SWITCH_STOPPED },
		      { 'D', TL_SWITCH_UNINTERRUPTIBLE },
		      { 'S', TL_SWITCH_SLEEPING } };

	if (len == 0 || (len > 1 && letters[0] == '0' && letters[1] == 'x'))
		return TL_SWITCH_UNKNOWN;
	if (letters[0] == 'R' || letters[len - 1] == '+')
		return TL_SWITCH_RUNNABLE;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memchr(letters, known[i].letter, len))
			return known[i].state;
	return TL_SWITCH_UNKNOWN;
}
