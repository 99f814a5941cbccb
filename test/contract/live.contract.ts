/** LivePort: tokens and progress for whoever listens. */
import { describe, expect, test } from "vitest";
import type { SagaId } from "../../protocol/ids.ts";
import { bytes, type MeshUnderTest, sagaId, text } from "./mesh-under-test.ts";

export const liveContract = (mesh: () => MeshUnderTest): void => {
  const listen = (saga: SagaId) => {
    const controller = new AbortController();
    const seen: string[] = [];
    // Followed from this call on: what is published before the first message is asked for is not lost.
    const messages = mesh().ports.live.follow(saga, controller.signal);
    const ended = (async () => {
      for await (const { lane, data } of messages) seen.push(`${lane} ${text(data)}`);
    })();
    return { seen, controller, ended };
  };

  describe("live", () => {
    test("a follower sees its saga's messages in order with their lanes, and no other saga's", async () => {
      const { ports, until } = mesh();
      const { seen, controller, ended } = listen(sagaId("a"));
      ports.live.publish(sagaId("a"), "tokens", bytes("He"));
      ports.live.publish(sagaId("b"), "tokens", bytes("no"));
      ports.live.publish(sagaId("a"), "progress", bytes("50"));
      ports.live.publish(sagaId("a"), "tokens", bytes("llo"));
      await until("three messages are seen", () => seen.length === 3);
      expect(seen).toEqual(["tokens He", "progress 50", "tokens llo"]);
      controller.abort();
      await ended;
    });

    test("two followers both see a message", async () => {
      const { ports, until } = mesh();
      const followers = [listen(sagaId("a")), listen(sagaId("a"))];
      ports.live.publish(sagaId("a"), "tokens", bytes("x"));
      await until("both see it", () => followers.every(({ seen }) => seen.length === 1));
      for (const { controller, ended } of followers) {
        controller.abort();
        await ended;
      }
    });

    test("a follower of one lane sees nothing of the others", async () => {
      const { ports, until } = mesh();
      const over = new AbortController();
      const seen: string[] = [];
      const messages = ports.live.follow(sagaId("a"), over.signal, "end");
      const ended = (async () => {
        for await (const { lane, data } of messages) seen.push(`${lane} ${text(data)}`);
      })();
      ports.live.publish(sagaId("a"), "tokens", bytes("no"));
      ports.live.publish(sagaId("a"), "end", bytes("7"));
      await until("the lane's message is seen", () => seen.length > 0);
      expect(seen).toEqual(["end 7"]);
      over.abort();
      await ended;
    });

    test("what nobody follows is gone", async () => {
      const { ports, wait } = mesh();
      ports.live.publish(sagaId("a"), "tokens", bytes("early"));
      await wait(50);
      const { seen, controller, ended } = listen(sagaId("a"));
      await wait(50);
      expect(seen).toEqual([]);
      controller.abort();
      await ended;
    });

    test("following with a signal that is aborted already ends at once", async () => {
      const seen: unknown[] = [];
      for await (const message of mesh().ports.live.follow(sagaId("a"), AbortSignal.abort()))
        seen.push(message);
      expect(seen).toEqual([]);
    });
  });
};
