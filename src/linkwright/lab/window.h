/* @title@: windows of a laboratory, for programs in C on Linux.
 * Made by Linkwright. A window is a file that processes map; one of them writes it.
 * Include it before the headers of the system, or compile with -std=gnu11.
 */
#ifndef @guard@
#define @guard@

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    uint32_t magic;     /* "LWR1" */
    uint16_t version, flags;
    uint64_t schema;    /* digest of the declaration */
    uint64_t sequence;  /* even; odd while the frame is written */
    int64_t tick, clock;
    uint64_t checksum, bytes;
    uint32_t wakes, zero;
} lw_head;

typedef struct {
    void *frame;
    uint64_t schema;
    uint32_t size, seen;
    int file, writes;
} lw_window;

static inline uint64_t lw_checksum(const void *frame, uint32_t size) {
    const uint32_t *word = (const uint32_t *)frame;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size / 4; i++)
        if (i != 10 && i != 11 && i != 14 && i != 15)
            sum = sum * UINT64_C(0x@multiplier@) + word[i];
    return sum;
}

/* Map a window; writes = 1 claims it, which one process can. Returns 0, -1 where there is no such
 * window or somebody else writes it, -2 where it was declared otherwise. */
static inline int lw_open(lw_window *w, const char *path, uint64_t schema, uint32_t size,
                          int writes) {
    struct stat found;
    memset(w, 0, sizeof *w);
    w->file = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (w->file < 0)
        return -1;
    if (fstat(w->file, &found) || (writes && flock(w->file, LOCK_EX | LOCK_NB))) {
        close(w->file);
        return -1;
    }
    if (found.st_size != (off_t)size) {
        close(w->file);
        return -2;
    }
    w->frame = mmap(0, size, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, w->file, 0);
    if (w->frame == MAP_FAILED) {
        close(w->file);
        return -1;
    }
    const lw_head *head = (const lw_head *)w->frame;
    if (head->magic != 0x@magic@ || head->version != @version@ || head->schema != schema) {
        munmap(w->frame, size);
        close(w->file);
        return -2;
    }
    w->schema = schema;
    w->size = size;
    w->writes = writes;
    w->seen = __atomic_load_n(&head->wakes, __ATOMIC_ACQUIRE);
    return 0;
}

static inline void lw_close(lw_window *w) {
    munmap(w->frame, w->size);
    close(w->file);
}

/* Copy the newest frame, whole. Returns 0, or -1 where its writer stands still in the middle. */
static inline int lw_read(lw_window *w, void *copy) {
    const lw_head *head = (const lw_head *)w->frame;
    lw_head *got = (lw_head *)copy;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = __atomic_load_n(&head->sequence, __ATOMIC_ACQUIRE);
        memcpy(copy, w->frame, w->size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        uint64_t after = __atomic_load_n(&head->sequence, __ATOMIC_RELAXED);
        if (!(before & 1) && before == after && lw_checksum(copy, w->size) == got->checksum)
            return 0;
    }
    return -1;
}

/* Put a frame in place of the last one, and wake who waits. Fill in the payload and the tick. */
static inline void lw_write(lw_window *w, void *copy) {
    lw_head *head = (lw_head *)w->frame, *mine = (lw_head *)copy;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t last = head->sequence & ~UINT64_C(1);
    mine->magic = head->magic;
    mine->version = head->version;
    mine->flags = 0;
    mine->schema = w->schema;
    mine->sequence = last + 2;
    mine->clock = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    mine->bytes = w->size - @head@;
    mine->checksum = lw_checksum(copy, w->size);
    __atomic_store_n(&head->sequence, last + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    head->tick = mine->tick;
    head->clock = mine->clock;
    head->checksum = mine->checksum;
    head->bytes = mine->bytes;
    memcpy((char *)w->frame + @head@, (char *)copy + @head@, w->size - @head@);
    __atomic_store_n(&head->sequence, last + 2, __ATOMIC_RELEASE);
    __atomic_add_fetch(&head->wakes, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &head->wakes, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

/* Sleep until the writer wakes this window; returns 1, or 0 after so many seconds. */
static inline int lw_wait(lw_window *w, double seconds) {
    lw_head *head = (lw_head *)w->frame;
    struct timespec span = {(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))};
    uint32_t now = __atomic_load_n(&head->wakes, __ATOMIC_ACQUIRE);
    if (now == w->seen) {
        syscall(SYS_futex, &head->wakes, FUTEX_WAIT, w->seen, &span, 0, 0);
        now = __atomic_load_n(&head->wakes, __ATOMIC_ACQUIRE);
    }
    int woken = now != w->seen;
    w->seen = now;
    return woken;
}
