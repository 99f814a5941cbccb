/**
 * Goal: a parent that wants undone what an archived child did hears that it cannot be had; anybody else's cancel is
 * refused as before. Method: the host's answers for a tombstone, each noted.
 */
import { expect, test } from "vitest";
import type { Event } from "../../../protocol/event.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { Tombstone } from "../../../protocol/tombstone.ts";
import { answerArchived } from "../../../services/host/archived.ts";
import type { InboxItem } from "../../../services/host/inputs.ts";

const tombstone: Tombstone = {
  ...{ v: 1, type: "tombstone", saga: parseSagaId("child-1"), archivedAt: 1, by: "ops", file: "child-1.gz" },
  ...{ turns: 5, prev: "", definition: { name: "child", version: 1, hash: "h" }, inputDigest: "" },
  parent: { saga: parseSagaId("parent-1"), intent: parseIntentId("2-1") },
  ...{ startedAt: 0, endedAt: 1, end: { status: "completed", output: null, standing: [] }, unsettled: {} },
};

const cancelBy = (saga: string): Event => ({
  ...{ type: "signal", name: "cancel", id: "x", from: saga, sentAt: 1 },
  data: { reason: "r", tell: { saga, intent: "9-0" } },
});

async function answersTo(event: Event): Promise<string[]> {
  const said: string[] = [];
  const item = { from: "inbox", event } as InboxItem; // Of the rest nothing is read but by the answers, which do not.
  await answerArchived(tombstone, [item], 2, {
    inputs: {
      answer: async (_, judged) =>
        void said.push(judged.type === "refused" ? `refused ${judged.error.code}` : judged.type),
    },
    notUndone: async ({ saga, intent }, { code }) => void said.push(`${saga} ${intent} ${code}`),
  });
  return said;
}

test("an order to undo by the saga's own parent is answered to it, with where the turns are", async () => {
  expect(await answersTo(cancelBy("parent-1"))).toEqual(["parent-1 9-0 SAGA_ARCHIVED"]);
});

test("the same by anybody else is a cancel that came too late", async () => {
  expect(await answersTo(cancelBy("somebody"))).toEqual(["refused SAGA_ENDED"]);
});
