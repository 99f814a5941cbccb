/**
 * Goal: whatever graph, whatever a node reads, whatever order of results, failures, invalidations and cancels: what is undone
 * is exactly what falls, each once, what rests on a thing before that thing; and in the end nothing stands that should not.
 * Method: random-workflow.ts.
 */
import { test } from "vitest";
import { laws } from "./random-workflow.ts";

test.each(Object.entries(laws))("any workflow %s", (_, holds) => holds({ times: 1, shrinks: true }));
