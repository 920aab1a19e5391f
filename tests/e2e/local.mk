# End-to-end tests: the real library, daemon and command line over the simulated GPU.
# The longest first.
e2e_tests = \
	tests/e2e/0950-aarch64.sh \
	tests/e2e/0210-coverage.sh \
	tests/e2e/0310-processes.sh \
	tests/e2e/0530-containers.sh \
	tests/e2e/0535-leaving.sh \
	tests/e2e/0100-left-alone.sh \
	tests/e2e/0120-odd-hosts.sh tests/e2e/0130-driver-calls.sh \
	tests/e2e/0200-launches.sh \
	tests/e2e/0240-injection.sh \
	tests/e2e/0250-devices.sh \
	tests/e2e/0260-run-keys.sh \
	tests/e2e/0300-endings.sh \
	tests/e2e/0400-kill9.sh tests/e2e/0405-kill9-packed.sh tests/e2e/0410-late.sh tests/e2e/0420-held-up.sh \
	tests/e2e/0500-surroundings.sh \
	tests/e2e/0505-cupti-faults.sh tests/e2e/0510-limits-and-ends.sh \
	tests/e2e/0515-refused-calls.sh tests/e2e/0517-device-buffers.sh tests/e2e/0520-clocks.sh tests/e2e/0540-tight-places.sh \
	tests/e2e/0600-profiler.sh tests/e2e/0610-budget.sh \
	tests/e2e/0650-sampler.sh tests/e2e/0655-sampler-refusals.sh tests/e2e/0657-sampler-deaths.sh tests/e2e/0660-sampler-alone.sh tests/e2e/0670-folds.sh \
	tests/e2e/0680-classes.sh \
	tests/e2e/0700-no-strangers.sh \
	tests/e2e/0800-truth.sh \
	tests/e2e/0830-gaps.sh tests/e2e/0840-shares.sh \
	tests/e2e/0850-ranges.sh \
	tests/e2e/0860-random.sh tests/e2e/0865-ledger-live.sh \
	tests/e2e/0870-profile.sh \
	tests/e2e/0880-late-ranks.sh tests/e2e/0890-merge.sh \
	tests/e2e/0970-field.sh \
	tests/e2e/0900-recording.sh \
	tests/e2e/0910-record.sh \
	tests/e2e/0920-analyze.sh tests/e2e/0925-analyze-packed.sh \
	tests/e2e/0930-import.sh \
	tests/e2e/0940-h200.sh \
	tests/e2e/0960-packed.sh tests/e2e/0962-keep-rows.sh \
	tests/e2e/0945-late-h200.sh \
	tests/e2e/1100-check.sh \
	tests/e2e/1110-gc.sh \
	tests/e2e/1120-doctor.sh \
	tests/e2e/1200-html.sh tests/e2e/1210-html-browser.sh \
	tests/e2e/1230-watch.sh

e2e_tests += tests/e2e/1240-compare.sh tests/e2e/1242-baseline.sh
TESTS += $(e2e_tests)
EXTRA_DIST += tests/browser/browser.js tests/browser/html_check.js
EXTRA_DIST += tests/e2e/lib.sh tests/e2e/kill9.sh $(e2e_tests)

check_PROGRAMS += tests/fake/app_guest
tests_fake_app_guest_SOURCES = tests/fake/app_guest.c $(fake_app_driver)
check_PROGRAMS += tests/fake/app_late
tests_fake_app_late_SOURCES = tests/fake/app_late.c $(fake_app_driver)
include tests/hosts/local.mk
