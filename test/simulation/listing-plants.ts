/* eslint-disable no-template-curly-in-string -- the words of our own source hold templates */
/**
 * The rules of the listing, each broken in the product's own source, as plants.ts breaks those of the protocol.
 *
 * Rules that are not here, and why:
 *
 * | rule | why no run can show it broken |
 * |---|---|
 * | a ledger that moved while it was taken in is read again | the moment is too short for chance, and a later row is left alone |
 * | there is no mark while rows are written anew | who looks is asked at rest, when they are written; test/services/listing/whole.test.ts looks between |
 * | of inputs that come again the row is looked for | hosts that start here are often the keeper, and take in what was stored since the mark; test/services/listing/whole.test.ts |
 * | the mark is put to where the ledgers ended when it was looked before | a host without rows serves unheard of for a moment only |
 * | who looks goes by no rows beside a host without | the mark names no keeper then, and who looks reads the ledgers for that; test/services/listing/whole.test.ts |
 * | a host that stood still writes no row | what it would write is older, and a later row is left alone |
 */
import type { Plant } from "./planted-rule.ts";

const rows = "services/listing/rows.ts";
const takeIn = "services/listing/take-in.ts";
const keep = "services/listing/keep.ts";
const whole = "services/listing/whole.ts";

export const listingPlants: readonly Plant[] = [
  {
    name: "row before its turn",
    world: "listing",
    rule: "a row is written after the turn that it tells of is acked",
    edits: [
      {
        file: "services/host/turn.ts",
        find: "if (turn === undefined || isGone(self) || !(await append(self, own, turn))) return;",
        replace:
          "if (turn === undefined || isGone(self)) return;\n  self.inputs.row.turned(turn.decided);\n  await self.inputs.row.settle(false);\n  if (!(await append(self, own, turn))) return;",
      },
    ],
  },
  {
    name: "older row put over a later one",
    rule: "a row of a later turn is left alone",
    edits: [
      {
        file: "services/listing/write.ts",
        find: 'if (before === "unknown" && standing.some(({ data }) => (decodeRow(data)?.turn ?? 0) > row.turn)) return false;',
        replace: "",
      },
    ],
  },
  {
    name: "row of a ledger told in part",
    from: 266,
    rule: "a row is not made of a ledger that is told without a turn that was acked",
    edits: [{ file: takeIn, find: "isOther ? 0 : turn", replace: "0" }],
    profile: { crowds: 2, journeys: 0, planners: 0 },
  },
  {
    name: "ended and listed as running",
    world: "listing",
    rule: "the row of a saga that has ended says so before its inputs are acked",
    edits: [
      {
        file: rows,
        find: "return isWritten() ? undefined : writeNext();",
        replace: 'return isWritten() || state?.phase.kind === "ended" ? undefined : writeNext();',
      },
      {
        file: rows,
        find: 'before = "unknown"; // Who has it next may have written.\n void writeNext();',
        replace: "",
      },
    ],
  },
  {
    name: "answered and listed as asking",
    world: "listing",
    rule: "whether a saga asks somebody is written when it changes",
    edits: [
      {
        file: rows,
        find: "const isSame = (a: Written, b: Written): boolean => a.key === b.key && a.turn === b.turn;",
        replace:
          'const isSame = (a: Written, b: Written): boolean => a.key.split(".")[0] === b.key.split(".")[0] && a.turn === b.turn;',
      },
    ],
  },
  {
    name: "row of before left standing",
    world: "listing",
    rule: "the row before is taken away once the new one is there",
    edits: [
      {
        file: "services/listing/write.ts",
        find: "if (other !== own) await listing.remove(other, `${id}-${other}`);",
        replace: 'if (other === "") await listing.remove(other, `${id}-${other}`);',
      },
    ],
  },
  {
    name: "archived and listed",
    world: "listing",
    rule: "a saga that is archived has no row",
    edits: [
      {
        file: "services/listing/take-in.ts",
        find: "if (tombstone !== undefined) {",
        replace: "if (tombstone !== undefined && saga === undefined) {",
      },
    ],
  },
  // Whether the rows are whole
  {
    name: "marked beside a host without",
    from: 29,
    world: "listing",
    rule: "while not all hosts keep rows the mark stays where it is",
    edits: [
      {
        file: keep,
        find: "return withoutRows !== before || hosts().some(({ lists }) => lists !== true);",
        replace: "return withoutRows < before;",
      },
      { file: keep, find: "if (heardWithoutRows() !== withoutRows) return;", replace: "" },
    ],
  },
  {
    name: "rows of another bucket",
    world: "listing",
    rule: "the mark holds for the bucket that it was written beside",
    edits: [{ file: whole, find: "mark.made === made && pin", replace: "pin" }],
  },
  {
    name: "rows without their pin",
    world: "listing",
    rule: "rows whose pin is not there, or stands further back than the mark says, are not those of before",
    edits: [{ file: whole, find: "made && pin >= (mark.pin ?? 0)", replace: "made && pin >= 0" }],
  },
  {
    name: "pin left where it stands",
    world: "listing",
    rule: "the pin goes on before the mark does",
    edits: [
      {
        file: keep,
        find: "await listing.pin(holder.pin ?? 0)",
        replace: "holder.pin ?? (await listing.pin(0))",
      },
    ],
  },
];
