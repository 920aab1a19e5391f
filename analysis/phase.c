/* phase.c - see phase.h. */
#include "analysis/phase.h"

#include <ctype.h>
#include <string.h>

/* ---- names */

/* A word begins at a change from lower to upper case, too: "LossBackward", "runForward". */
static bool begins_word(const char *name, size_t at)
{
	if (at == 0 || !isalpha((unsigned char)name[at - 1]))
		return true;
	return islower((unsigned char)name[at - 1]) && isupper((unsigned char)name[at]);
}

/* Is the word there, in any case, at the beginning of one? */
static bool has_word(const char *name, const char *word, bool is_whole)
{
	size_t length = strlen(word);

	for (size_t at = 0; name[at]; at++) {
		size_t i = 0;

		while (i < length && tolower((unsigned char)name[at + i]) == word[i])
			i++;
		if (i == length && begins_word(name, at) &&
		    (!is_whole || !islower((unsigned char)name[at + length])))
			return true;
	}
	return false;
}

enum wt_phase wt_phase_of_range(const char *name)
{
	bool is_forward, is_backward, is_optimizer;

	if (!name)
		return WT_PHASE_NONE;
	is_forward = has_word(name, "forward", false) || has_word(name, "fwd", true);
	is_backward = has_word(name, "backward", false) || has_word(name, "bwd", true);
	is_optimizer = has_word(name, "optimizer", false) || has_word(name, "optim", true);
	if (is_forward + is_backward + is_optimizer != 1)
		return WT_PHASE_NONE;
	return is_forward ? WT_PHASE_FORWARD : is_backward ? WT_PHASE_BACKWARD : WT_PHASE_OPTIMIZER;
}

/* ---- threads */

int64_t wt_phase_backward_thread(const struct wt_phase_thread *threads, size_t count)
{
	const struct wt_phase_thread *first = NULL, *second = NULL;
	int64_t launches = 0, updates = 0;

	for (size_t i = 0; i < count; i++) {
		launches += threads[i].launches;
		updates += threads[i].updates;
		if (!first || threads[i].launches > first->launches) {
			second = first;
			first = &threads[i];
		} else if (!second || threads[i].launches > second->launches) {
			second = &threads[i];
		}
	}
	if (!second || !updates || second->launches < launches / 10 + 1 ||
	    launches - first->launches - second->launches > launches / 100)
		return -1;
	if (first->updates == updates)
		return second->tid;
	return second->updates == updates ? first->tid : -1;
}

enum wt_phase wt_phase_of_launch(enum wt_phase range, bool is_update, int64_t tid,
                                 int64_t backward_tid, enum wt_phase_evidence *ret_evidence)
{
	enum wt_phase_evidence evidence = WT_PHASE_BY_NOTHING;
	enum wt_phase phase = WT_PHASE_NONE;

	if (range != WT_PHASE_NONE) {
		phase = range;
		evidence = WT_PHASE_BY_RANGE;
	} else if (is_update) {
		phase = WT_PHASE_OPTIMIZER;
		evidence = WT_PHASE_BY_KERNEL;
	} else if (backward_tid >= 0 && tid >= 0) {
		phase = tid == backward_tid ? WT_PHASE_BACKWARD : WT_PHASE_FORWARD;
		evidence = WT_PHASE_BY_THREAD;
	}
	if (ret_evidence)
		*ret_evidence = evidence;
	return phase;
}

/* ---- words */

const char *wt_phase_text(enum wt_phase phase)
{
	static const char *const texts[] = {NULL, "forward", "backward", "optimizer"};

	return (size_t)phase < sizeof(texts) / sizeof(texts[0]) ? texts[phase] : NULL;
}

const char *wt_phase_evidence_text(enum wt_phase_evidence evidence)
{
	static const char *const texts[] = {NULL, "range", "kernel", "thread"};

	return (size_t)evidence < sizeof(texts) / sizeof(texts[0]) ? texts[evidence] : NULL;
}
