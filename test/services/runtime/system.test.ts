/**
 * Goal: that an incarnation names its process, whatever the machine is called.
 */
import { expect, test } from "vitest";
import { newIncarnation, pidOf } from "../../../services/runtime/system.ts";

test("an incarnation names the process that it is of", () => {
  expect(pidOf(newIncarnation("worker"))).toBe(process.pid);
  expect(pidOf("h-ip-10-0-0-7-4711-0a1b2c")).toBe(4711);
});

test("what is no incarnation names no process", () => {
  for (const name of ["outside", "h-machine", "recruiter-1", ""]) expect(pidOf(name)).toBeUndefined();
});
