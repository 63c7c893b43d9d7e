/* Preloaded into a program, shifts its wall clock by as many seconds as the file WORKHOST_TEST_CLOCK says at each look. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    int before = errno;
    long seconds = 0;
    char text[32];
    const char *path = getenv("WORKHOST_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        ssize_t length = read(file, text, sizeof text - 1);
        if (length > 0) {
            text[length] = 0;
            seconds = strtol(text, NULL, 10);
        }
        close(file);
    }
    errno = before;
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int answer = real(clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += offset();
    }
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
    int answer = real(now, zone);
    if (answer == 0) {
        now->tv_sec += offset();
    }
    return answer;
}

time_t time(time_t *told) {
    time_t (*real)(time_t *) = dlsym(RTLD_NEXT, "time");
    time_t now = real(NULL) + offset();
    if (told) {
        *told = now;
    }
    return now;
}
