/* SPDX-License-Identifier: MIT
 * Streams as queues of operations, which run when somebody waits for them. One thread at a time
 * steps through a stream; a graph is an operation with a list of its own, of which the stream keeps
 * the place.
 *
 *   enqueue -> | launch | copy | graph { launch launch } | -> step, one operation at a time */
#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAP_US = 1000, STAGED_MAX = 1 << 16 };

static struct CUstream_st *streams;

/* -- operations -------------------------------------------------------------------------------- */

static void op_release(struct op *op)
{
    if (op->launch)
        launch_release(op->launch);
    if (op->exec)
        exec_release(op->exec);
    free(op->staged);
    *op = (struct op){0};
}

static bool op_list_add(struct op_list *list, struct op op)
{
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 16;
        struct op *const ops = realloc(list->ops, room * sizeof(*ops));

        if (!ops)
            return false;
        list->ops = ops;
        list->room = room;
    }
    list->ops[list->count++] = op;
    return true;
}

void op_list_close(struct op_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        op_release(&list->ops[i]);
    free(list->ops);
    *list = (struct op_list){0};
}

void exec_release(struct CUgraphExec_st *exec)
{
    if (--exec->references > 0)
        return;
    op_list_close(&exec->nodes);
    object_close(exec, true);
}

bool op_list_copy(struct op_list *to, const struct op_list *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct op op = from->ops[i];

        if (op.launch)
            launch_hold(op.launch);
        if (op.staged) {
            op.staged = malloc(op.bytes);
            memcpy(op.staged, from->ops[i].staged, op.bytes);
            op.from = op.staged;
        }
        if (!op_list_add(to, op))
            return false;
    }
    return true;
}

int copy_now(void *to, const void *from, size_t bytes, enum cudaMemcpyKind direction)
{
    if (direction == cudaMemcpyDeviceToHost || direction == cudaMemcpyDeviceToDevice)
        from = memory_read(from, bytes);
    if (!from)
        return cudaErrorInvalidValue;
    if (direction != cudaMemcpyDeviceToHost)
        return memory_write(to, from, bytes) ? 0 : cudaErrorInvalidValue;
    memcpy(to, from, bytes);
    return 0;
}

/* -- running ----------------------------------------------------------------------------------- */

/* Does one operation. 0, the error that ends the context, or CODE_NEVER. */
static int op_run(struct device *device, const struct op *op, double *end_ns, double *mj)
{
    *end_ns = device->now_ns;
    *mj = 0;
    switch (op->kind) {
    case OP_LAUNCH:
        *mj = launch_mj(op->launch);
        return launch_run(device, op->launch, end_ns);
    case OP_COPY:
        *end_ns += chip.copy_ns + (double)op->bytes / chip.copy_bytes_per_ns;
        return copy_now(op->to, op->from, op->bytes, op->direction);
    case OP_SET:
        *end_ns += chip.copy_ns + (double)op->bytes / chip.dram_bytes_per_ns;
        return memory_set(op->to, op->byte, op->bytes) ? 0 : cudaErrorIllegalAddress;
    case OP_GRAPH:
        break;
    }
    return 0;
}

/* The operation that is next, of a graph the node; NULL where there is none. Graphs are gone
 * through in place. */
static const struct op *next_op(struct CUstream_st *stream)
{
    while (stream->head < stream->queue.count) {
        const struct op *const op = &stream->queue.ops[stream->head];

        if (op->kind != OP_GRAPH) {
            stream->drawn = NULL;
            return op;
        }
        if (op->exec != stream->drawn)
            device_draw(stream->device);
        stream->drawn = op->exec;
        if (stream->node < op->exec->nodes.count)
            return &op->exec->nodes.ops[stream->node];
        stream->device->used = true;
        stream->node = 0;
        stream->head++;
    }
    op_list_close(&stream->queue);
    stream->head = 0;
    return NULL;
}

static void step_over(struct CUstream_st *stream)
{
    if (stream->queue.ops[stream->head].kind == OP_GRAPH)
        stream->node++;
    else
        stream->head++;
}

/* One step; 0 when it is done. */
static int stream_step(struct CUstream_st *stream, const struct op *op, bool wait)
{
    struct device *const device = stream->device;
    double end_ns, mj;
    int code;

    if (device->factor == 0)
        device_draw(device);
    code = op_run(device, op, &end_ns, &mj);
    if (code == CODE_NEVER) {
        stream->hung = true;
        return cudaErrorNotReady;
    }
    if (code) {
        device_break(device, code);
        return code;
    }
    device_advance(device, end_ns, mj);
    stream->ready_ns = end_ns;
    step_over(stream);
    return device_pass(device, end_ns, wait) ? 0 : cudaErrorNotReady;
}

static void nap(void)
{
    entry_unlock();
    usleep(NAP_US);
    entry_lock();
}

/* Until the one that is at the stream has left it. */
static bool enter(struct CUstream_st *stream, bool wait)
{
    while (stream->busy && wait)
        nap();
    return !stream->busy;
}

int stream_run(struct CUstream_st *stream, bool wait)
{
    struct device *const device = stream->device;
    const struct op *op;
    int code = 0;

    if (!enter(stream, wait))
        return cudaErrorNotReady;
    stream->busy = true;
    if (!device_pass(device, stream->ready_ns, wait))
        code = cudaErrorNotReady;
    while (code == 0 && !device->sticky && !stream->hung && (op = next_op(stream)))
        code = stream_step(stream, op, wait);
    stream->busy = false;
    while (stream->hung && wait && !device->sticky)
        nap();
    return device->sticky ? device->sticky : stream->hung ? cudaErrorNotReady : code;
}

int device_run(struct device *device)
{
    int code = 0;

    for (struct CUstream_st *stream = streams; stream && code == 0; stream = stream->next)
        if (stream->device == device)
            code = stream_run(stream, true);
    return code;
}

void device_catch_up(struct device *device)
{
    bool idle = settings.pace > 0;

    for (struct CUstream_st *stream = streams; stream; stream = stream->next)
        if (stream->device == device) {
            stream_run(stream, false);
            idle = idle && stream->queue.count == stream->head;
        }
    if (idle && device->now_ns < wall_ns())
        device_advance(device, wall_ns(), 0);
}

/* -- streams ----------------------------------------------------------------------------------- */

struct CUstream_st *stream_open(struct device *device)
{
    struct CUstream_st *const stream = object_open(OBJECT_STREAM, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->device = device;
    stream->next = streams;
    streams = stream;
    return stream;
}

void stream_close(struct CUstream_st *stream)
{
    struct CUstream_st **link = &streams;

    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    op_list_close(&stream->queue);
    if (stream->capture) {
        op_list_close(&stream->capture->nodes);
        object_close(stream->capture, true);
        entry_capturing(-1);
    }
    object_close(stream, false);
}

/* Memory that is not pinned is read when the operation is enqueued. */
static bool stage(struct op *op)
{
    if (op->kind != OP_COPY || op->direction != cudaMemcpyHostToDevice || op->bytes > STAGED_MAX ||
        block_find(op->from, op->bytes, BLOCK_HOST))
        return true;
    op->staged = malloc(op->bytes + 1);
    if (!op->staged)
        return false;
    memcpy(op->staged, op->from, op->bytes);
    op->from = op->staged;
    return true;
}

int stream_add(struct CUstream_st *stream, struct op op)
{
    struct device *const device = stream->device;

    if (!stage(&op) ||
        !op_list_add(stream->capture ? &stream->capture->nodes : &stream->queue, op)) {
        op_release(&op);
        return cudaErrorMemoryAllocation;
    }
    if (stream->capture)
        return 0;
    /* Time has passed on an idle device. */
    if (settings.pace && stream->queue.count - stream->head == 1 && device->now_ns < wall_ns())
        device_advance(device, wall_ns(), 0);
    return 0;
}
