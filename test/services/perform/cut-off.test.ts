/**
 * Goal: an attempt that is cut off is told so, whenever it asks. Method: one cut-off, asked before and after.
 */
import { expect, it, vi } from "vitest";
import { CutOff } from "../../../services/perform/cut-off.ts";

const superseded = new Error("superseded");

it("a signal asked for before the cut is aborted by it, with its reason", () => {
  const cutOff = new CutOff();
  const { signal } = cutOff;
  expect(signal.aborted).toBe(false);
  cutOff.cut(superseded);
  expect([signal.aborted, signal.reason]).toEqual([true, superseded]);
});

it("a signal asked for only after the cut is aborted already", () => {
  const cutOff = new CutOff();
  cutOff.cut(superseded);
  expect([cutOff.signal.aborted, cutOff.signal.reason]).toEqual([true, superseded]);
});

it("the listener hears of the first cut and of no other", () => {
  const cutOff = new CutOff();
  const heard = vi.fn();
  cutOff.onCut = heard;
  cutOff.cut(superseded);
  cutOff.cut(new Error("again"));
  expect(heard.mock.calls).toEqual([[superseded]]);
});
