/** Goal: a host has only so many effects in flight, first come first served. Method: places taken and left by hand. */
import { expect, it } from "vitest";
import { createRoom } from "../../../services/process/room.ts";
import { CutOff } from "../../../services/perform/cut-off.ts";

it("whoever finds no place waits, and gets the next one that is left, in order", async () => {
  const room = createRoom(2);
  const entered: string[] = [];
  const come = async (name: string) => {
    await room.enter(new CutOff());
    entered.push(name);
  };
  const all = [come("a"), come("b"), come("c"), come("d")];
  await Promise.all(all.slice(0, 2));
  expect(entered).toEqual(["a", "b"]);
  room.leave();
  await all[2];
  expect([entered, room.taken()]).toEqual([["a", "b", "c"], 2]);
  room.leave();
  await all[3];
  room.leave();
  room.leave();
  expect([entered.at(-1), room.taken()]).toEqual(["d", 0]);
});

it("a wait that is cut off takes no place, and the one behind it is next", async () => {
  const room = createRoom(1);
  await room.enter(new CutOff());
  const cutOff = new CutOff();
  const wait = room.enter(cutOff);
  const next = room.enter(new CutOff());
  cutOff.cut(new Error("superseded"));
  await expect(wait).rejects.toThrow("superseded");
  room.leave();
  await next;
  room.leave();
  expect(room.taken()).toBe(0);
});
