/**
 * Goal: the lab sees when a saga is listed otherwise than it stands, or a task is not, and judges nothing that changed meanwhile.
 * Method: how sagas stood before a look and after it, and what it said, one thing spoiled at a time.
 */
import { expect, test } from "vitest";
import { misTold, type Stand } from "./listed.ts";

const stands = (...some: (readonly [string, string, ...string[]])[]): Map<string, Stand> =>
  new Map(some.map(([saga, status, ...tasks]) => [saga, { status, tasks }]));
const looked = (statuses: Record<string, string>, ...tasks: string[]) => ({
  statuses: new Map(Object.entries(statuses)),
  tasks: new Set(tasks),
});

const before = stands(["a", "running", "1-0"], ["b", "completed"], ["c", "running"]);

test("what is told as it stands is right", () => {
  const told = looked({ a: "running", b: "completed", c: "running" }, "a 1-0");
  expect(misTold(before, before, told)).toEqual([]);
});

test("a saga that is listed otherwise, one that is left out and a task that is left out are said", () => {
  expect(misTold(before, before, looked({ a: "failed", b: "running" }))).toEqual([
    "a is running and was listed as failed",
    "a asks by 1-0 and was not listed",
    "b is completed and was listed as running",
    "c is running and was listed as nothing",
  ]);
});

test("what ended, was answered or began while it was looked is not judged", () => {
  const after = stands(["a", "running", "4-0"], ["b", "completed"], ["c", "failed"], ["d", "running"]);
  expect(misTold(before, after, looked({ a: "running", b: "completed" }))).toEqual([]);
});
