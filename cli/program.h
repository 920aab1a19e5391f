/*
 * program.h - running somebody's program as the shell would, and looking at its file.
 *
 * Uses signal handlers and one global (the child's pid, for them): one program at a time,
 * from a single-threaded process. Blocks until the program has ended.
 */
#ifndef WT_CLI_PROGRAM_H
#define WT_CLI_PROGRAM_H

/*
 * Starts argv in our process group with the environment `environment` adds to ours
 * (pairs of name and value, ended by a NULL name), and waits for its end. Meanwhile
 * SIGINT and SIGQUIT are ignored here (the terminal sends them to the program too), SIGTERM
 * and SIGHUP are passed on. Returns 0 and the status of waitpid(), or -errno of a failed
 * start; a failed exec too.
 */
int wt_program_run(char *const *argv, const char *const (*environment)[2], int *ret_status);

/* Ends us as the program ended: returns its exit code, or dies of its signal without a core. */
int wt_program_end_like(int status);

/* The file that execvp would take for `command`, into `path` (WT_PATH_BYTES). 0 or -ENOENT. */
int wt_program_find(const char *command, char *path);

/*
 * Why the loader would not preload anything into the file behind `command` (looked up in
 * PATH as execvp does): one static clause, or NULL if nothing speaks against it.
 */
const char *wt_program_preload_obstacle(const char *command);

#endif /* WT_CLI_PROGRAM_H */
