#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Dawn takes uniform arrays of a stride that WGSL used to forbid, with no word.
#
# tool: npm webgpu 0.6.2 (Dawn), null backend
# question: is `array<f32, 4>` in `var<uniform>` taken? The stride of such an array had to be a
#   multiple of 16.
# guess (55 %): refused: stride must be 16
# what is: taken, with no message and without `enable` or `requires`. The language feature
#   `uniform_buffer_standard_layout` is listed. The limit of a binding stays at 65,536 bytes.
# why: the feature lifts the rules of alignment that were kept for older hardware
# what it means: a table of f32 can have 16,384 entries in the uniform address space here and
#   4,096, in vec4, elsewhere. A table for every implementation needs the old layout, and a test
#   here does not show that it has it.
#
# usage: findings/dawn_uniform_stride.sh
#
# It fetches 132 MB. Exit status: 0 it is as said here, 1 it is not, 3 it could not be tried.

# shellcheck source=findings/common/place.sh
. "$(dirname "$0")/common/place.sh"

command -v npm >/dev/null || fail 'no npm here' 3
npm install --prefix "$place" --cache "$place/cache" --ignore-scripts --no-audit --no-fund \
    --loglevel error webgpu@0.6.2 >&2 || fail 'cannot fetch webgpu@0.6.2' 3

cat >ask.mjs <<'END'
import { create } from "webgpu";
const gpu = create(["backend=null"]);
const device = await (await gpu.requestAdapter()).requestDevice();
device.pushErrorScope("validation");
const code = `@group(0) @binding(0) var<uniform> table: array<f32, 4>;
@compute @workgroup_size(1) fn look() { _ = table[0]; }`;
const { messages } = await device.createShaderModule({ code }).getCompilationInfo();
const error = await device.popErrorScope();
console.log("messages:", messages.length, "error:", error ? error.message : "none");
console.log("listed:", gpu.wgslLanguageFeatures.has("uniform_buffer_standard_layout"));
console.log("bytes of a binding:", device.limits.maxUniformBufferBindingSize);
process.exit(0);
END
node ask.mjs | tee said || fail 'the package does not run' 1
grep -q 'messages: 0 error: none' said || fail 'the array is not taken' 1
grep -q 'listed: true' said || fail 'the feature is not listed' 1
grep -q 'binding: 65536' said || fail 'the limit is another one' 1
