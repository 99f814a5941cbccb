/**
 * The outside world of the three examples, and the agent that was there before sagamesh: a loop around a model, with
 * hands of its own. Everything that happens outside is a line on stderr.
 */
import { setTimeout as delay } from "node:timers/promises";

/** Long enough for you to press Ctrl-C, or for the test to kill the process. */
const workMs = 400;

export const shop = {
  async findOrder(complaint: string): Promise<{ order: string; cents: number }> {
    console.error(`shop: an order is looked up for "${complaint}"`);
    await delay(workMs);
    return { order: "order-7", cents: 4200 };
  },
  /** Who sends the same key again gets the same refund. Who has no key to send gets another one. */
  async refund(order: string, cents: number, key: string): Promise<void> {
    console.error(`bank: ${cents} cents refunded for ${order} under ${key}`);
    await delay(workMs);
  },
};

type Hands = "all" | "eyes";

/** What a model would say next; a script, so that the examples run offline. */
async function askModel(notes: readonly string[], hands: Hands): Promise<"look" | "refund" | "answer"> {
  await delay(workMs);
  if (notes.length === 1) return "look";
  return notes.length === 2 && hands === "all" ? "refund" : "answer";
}

/**
 * The black box: an agent from any SDK, or your own from last year. It decides and acts in one process's memory, and
 * all that it is asked for comes back at the end. With `eyes` it only reads.
 */
export async function oldAgent(
  complaint: string,
  hands: Hands,
): Promise<{ letter: string; notes: string[] }> {
  const notes = [complaint];
  for (;;) {
    const next = await askModel(notes, hands);
    if (next === "answer") return { letter: `Dear customer, ${notes.at(-1) ?? ""}.`, notes };
    const { order, cents } = await shop.findOrder(complaint);
    if (next === "look") notes.push(`${order} cost ${cents} cents`);
    else {
      await shop.refund(order, cents, crypto.randomUUID());
      notes.push(`${cents} cents are on their way`);
    }
  }
}
