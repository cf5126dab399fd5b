/* SPDX-License-Identifier: MIT
 * Its name marks the folder of a toolkit. */
#pragma once
