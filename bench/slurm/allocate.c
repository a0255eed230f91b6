/*
 * One client of the controller: allocates and cancels, one job at a time, for so many milliseconds, and prints how many
 * pairs it did and how long they took. Usage: allocate MILLISECONDS [TRES_PER_NODE]. A request that is not granted at
 * once ends it with 1: a controller that only queues would look fast.
 */
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, slurm_strerror(slurm_get_errno()));
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	slurm_init(NULL);
	double started = now_ms();
	double until = started + atof(argv[1]);
	long pairs = 0;
	while (now_ms() < until) {
		job_desc_msg_t job;
		resource_allocation_response_msg_t *granted = NULL;
		slurm_init_job_desc_msg(&job);
		job.name = "bench";
		job.user_id = getuid();
		job.group_id = getgid();
		job.min_nodes = 1;
		job.max_nodes = 1;
		job.immediate = 1;
		if (argc > 2)
			job.tres_per_node = argv[2];
		if (slurm_allocate_resources(&job, &granted) != SLURM_SUCCESS || granted == NULL)
			return fail("allocate");
		if (granted->node_list == NULL || granted->node_cnt != 1) {
			fprintf(stderr, "job %u was queued, not allocated\n", granted->job_id);
			return 1;
		}
		if (slurm_kill_job(granted->job_id, SIGKILL, 0) != SLURM_SUCCESS)
			return fail("cancel");
		slurm_free_resource_allocation_response_msg(granted);
		pairs++;
	}
	printf("%ld %.3f\n", pairs, now_ms() - started);
	return 0;
}
