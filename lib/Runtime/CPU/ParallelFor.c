/*===-- ParallelFor.c - Threads of a compiled CPU library -------*- C -*-===*/
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A pool of sleeping workers and a list of jobs. A job lives on its caller's
 * stack; the caller works on it too, so it ends even if no worker ever comes,
 * and several callers never wait for each other. Chunks are handed out by one
 * atomic counter per job.
 *
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include "blockscale/Runtime/CPU/ParallelFor.h"
#include "../Fail.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  MaxThreads = 1024,
  /* More chunks than threads, so that a slow thread does not hold up all. */
  ChunksPerThread = 8,
};

typedef struct Job {
  void (*body)(void *, int64_t, int64_t);
  void *context;
  int64_t count, chunk, numChunks;
  _Atomic int64_t nextChunk;
  int helpers; /* Workers inside; guarded by the pool's mutex. */
  struct Job *next, *previous;
} Job;

/* One pool, in static memory: nothing to free, and nothing to lose to a thread
 * that still runs at exit. */
static struct {
  int numThreads;
  pthread_mutex_t mutex;
  pthread_cond_t jobsChanged, helperLeft;
  /* Guarded by the mutex: */
  Job *jobs;
  bool stopping, started;
  int numWorkers;
  pthread_t workers[MaxThreads];
} pool;

/* The process whose threads the pool holds; negative while that process sets
 * it up. Threads do not survive fork(): a child sets the pool up again. */
static _Atomic pid_t poolOwner;

static int threadsToUse(void) {
  const char *text = getenv("BLOCKSCALE_NUM_THREADS");
  if (text && *text) {
    char *end;
    long number = strtol(text, &end, 10);
    if (end != text && *end == '\0' && number > 0)
      return number < MaxThreads ? (int)number : MaxThreads;
    fprintf(stderr,
            "warning: BLOCKSCALE_NUM_THREADS expects a positive number, but "
            "got '%s'; using all processors\n",
            text);
  }
  cpu_set_t set;
  long number = sched_getaffinity(0, sizeof set, &set) == 0
                    ? CPU_COUNT(&set)
                    : sysconf(_SC_NPROCESSORS_ONLN);
  if (number < 1)
    return 1;
  return number < MaxThreads ? (int)number : MaxThreads;
}

static bool runChunk(Job *job) {
  int64_t index =
      atomic_fetch_add_explicit(&job->nextChunk, 1, memory_order_relaxed);
  if (index >= job->numChunks)
    return false;
  int64_t begin = index * job->chunk;
  int64_t end = index + 1 == job->numChunks ? job->count : begin + job->chunk;
  job->body(job->context, begin, end);
  return true;
}

static Job *findJob(void) {
  for (Job *job = pool.jobs; job; job = job->next)
    if (atomic_load_explicit(&job->nextChunk, memory_order_relaxed) <
        job->numChunks)
      return job;
  return NULL;
}

static void *work(void *argument) {
  blockscaleInsideBody = true;
  pthread_mutex_lock(&pool.mutex);
  while (!pool.stopping) {
    Job *job = findJob();
    if (!job) {
      pthread_cond_wait(&pool.jobsChanged, &pool.mutex);
      continue;
    }
    ++job->helpers;
    pthread_mutex_unlock(&pool.mutex);
    while (runChunk(job)) {
    }
    pthread_mutex_lock(&pool.mutex);
    if (--job->helpers == 0)
      pthread_cond_broadcast(&pool.helperLeft);
  }
  pthread_mutex_unlock(&pool.mutex);
  return argument;
}

/* Under the mutex. Fewer workers than wanted are fine, even none. */
static void startWorkers(void) {
  pool.started = true;
  /* Signals belong to the application's threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.numWorkers < pool.numThreads - 1) {
    if (pthread_create(&pool.workers[pool.numWorkers], NULL, work, NULL))
      break;
    ++pool.numWorkers;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Makes the pool this process's own. What a parent left in it is void: its
 * mutex may be held for ever, by a thread that is not here. */
static void setUpPool(void) {
  pid_t process = getpid();
  for (;;) {
    pid_t owner = atomic_load_explicit(&poolOwner, memory_order_acquire);
    if (owner == process)
      return;
    if (owner == -process) {
      sched_yield();
      continue;
    }
    if (!atomic_compare_exchange_weak(&poolOwner, &owner, -process))
      continue;
    pool.numThreads = threadsToUse();
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.jobsChanged, NULL);
    pthread_cond_init(&pool.helperLeft, NULL);
    pool.jobs = NULL;
    pool.stopping = pool.started = false;
    pool.numWorkers = 0;
    atomic_store_explicit(&poolOwner, process, memory_order_release);
  }
}

/* At dlclose() and at exit: no thread may outlive the code it runs. */
__attribute__((destructor)) static void stopWorkers(void) {
  if (atomic_load(&poolOwner) != getpid())
    return;
  pthread_mutex_lock(&pool.mutex);
  pool.started = pool.stopping = true; /* No new ones either. */
  pthread_cond_broadcast(&pool.jobsChanged);
  int numWorkers = pool.numWorkers;
  pthread_mutex_unlock(&pool.mutex);
  for (int i = 0; i < numWorkers; ++i)
    pthread_join(pool.workers[i], NULL);
}

int64_t blockscaleNumThreads(void) {
  setUpPool();
  return pool.numThreads;
}

static int64_t chunkSize(int64_t count, int64_t grain, int64_t numThreads) {
  int64_t grains = (count - 1) / grain + 1;
  int64_t perChunk = grains / (numThreads * ChunksPerThread);
  return perChunk > 1 ? perChunk * grain : grain;
}

void blockscaleParallelFor(int64_t count, int64_t grain,
                           void (*body)(void *context, int64_t begin,
                                        int64_t end),
                           void *context) {
  if (count <= 0)
    return;
  if (grain < 1)
    grain = 1;
  /* What is wrong with the environment is said however small the work is. */
  if (!atomic_load_explicit(&poolOwner, memory_order_relaxed))
    setUpPool();
  if (count <= grain || blockscaleInsideBody || blockscaleNumThreads() == 1) {
    body(context, 0, count);
    return;
  }

  Job job = {.body = body, .context = context, .count = count};
  job.chunk = chunkSize(count, grain, pool.numThreads);
  job.numChunks = (count - 1) / job.chunk + 1;

  pthread_mutex_lock(&pool.mutex);
  if (!pool.started)
    startWorkers();
  job.next = pool.jobs;
  if (job.next)
    job.next->previous = &job;
  pool.jobs = &job;
  if (job.numChunks > pool.numWorkers)
    pthread_cond_broadcast(&pool.jobsChanged);
  else
    for (int64_t i = 1; i < job.numChunks; ++i)
      pthread_cond_signal(&pool.jobsChanged);
  pthread_mutex_unlock(&pool.mutex);

  blockscaleInsideBody = true;
  while (runChunk(&job)) {
  }
  blockscaleInsideBody = false;

  pthread_mutex_lock(&pool.mutex);
  if (job.previous)
    job.previous->next = job.next;
  else
    pool.jobs = job.next;
  if (job.next)
    job.next->previous = job.previous;
  while (job.helpers > 0)
    pthread_cond_wait(&pool.helperLeft, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}
