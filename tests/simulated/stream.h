/* SPDX-License-Identifier: MIT
 * Streams: queues of operations; graphs. */
#ifndef SIMULATED_STREAM_H
#define SIMULATED_STREAM_H

#include "kernel.h"

enum op_kind { OP_LAUNCH, OP_COPY, OP_SET, OP_GRAPH };

struct op {
    enum op_kind kind;
    struct launch *launch;     /* held */
    enum cudaMemcpyKind direction;
    void *to;
    const void *from;
    void *staged;              /* owned: what pageable memory held when it was enqueued */
    size_t bytes;
    int byte;
    struct CUgraphExec_st *exec;
};

/* A list of operations. */
struct op_list {
    struct op *ops;
    size_t count, room;
};

struct CUctx_st {
    struct device *device;
};

struct CUstream_st {
    struct device *device;
    struct op_list queue;
    size_t head, node; /* the next operation, and the next of its graph */
    const struct CUgraphExec_st *drawn; /* the graph that the time of the last operation is of */
    double ready_ns;   /* when the operation that runs ends; 0: none does */
    bool hung, busy;   /* it never ends; a thread is at it */
    struct CUgraph_st *capture; /* NULL: operations are done */
    struct CUstream_st *next;
};

struct CUgraph_st {
    struct op_list nodes;
};

struct CUgraphExec_st {
    struct op_list nodes;
    uint32_t references;
};

/* Gives a reference back: the last frees. */
void exec_release(struct CUgraphExec_st *exec);

/* Adds an operation to a stream or to what it captures; takes over what it holds. The code to
 * answer with. */
int stream_add(struct CUstream_st *stream, struct op op);

/* Lets a stream work: to its end where `wait`, else as far as time has come. 0 when nothing is
 * left, cudaErrorNotReady, or the error that ended the context. */
int stream_run(struct CUstream_st *stream, bool wait);

/* The same for all streams of a device. */
int device_run(struct device *device);

struct CUstream_st *stream_open(struct device *device);
void stream_close(struct CUstream_st *stream);

void op_list_close(struct op_list *list);

/* Appends; what the operation holds is held once more. */
bool op_list_copy(struct op_list *to, const struct op_list *from);

/* Copies now. 0 or the error. */
int copy_now(void *to, const void *from, size_t bytes, enum cudaMemcpyKind direction);

#endif
