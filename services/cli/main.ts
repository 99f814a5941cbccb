#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=16 --no-allocation-site-pretenuring
/**
 * The command line's entry: on a Node that is too old it says so in one line, where everything after it would be a
 * syntax error or a missing export.
 *
 * So this file stands alone and speaks the JavaScript of Node 12: it imports nothing until the version is known.
 *
 * The first line's flags: young objects have room to die young, and none is born old. V8 would put what many turns keep for a
 * while, the machine's snapshots, into its old space at birth, where each dead one keeps what it points at until the whole heap is
 * collected: 2 KB of each turn.
 */
const version = process.versions.node;
const [major = 0, minor = 0] = version.split(".").map(Number);

if (major > 22 || (major === 22 && minor >= 18)) void import("./begin.ts");
else {
  process.stderr.write(
    `error: sagamesh needs Node 22.18 or newer, and this is Node ${version} (${process.execPath})\n`,
  );
  process.exitCode = 1;
}
