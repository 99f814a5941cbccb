/** Bulk fields: what a person says beside an act on many: why, what became of it, how old. */
import type { BulkBody, BulkKind } from "../documents.ts";
import { jsonOrText } from "./fields.ts";
import { me } from "./me.tsx";
import { keepName, keptName } from "./name.ts";
import { useStore } from "./store.ts";

/** What was chosen so far. */
export interface Chosen {
  readonly reason: string;
  readonly happened: boolean | undefined;
  readonly output: string;
  readonly by: string;
  readonly days: number;
  /** Whether it says all that the act needs. */
  readonly isReady: (kind: BulkKind) => boolean;
  readonly said: (kind: BulkKind) => Omit<BulkBody, "items" | "id">;
}

type Typed = Pick<Chosen, "reason" | "happened" | "output" | "by" | "days">;

const made = (typed: Typed): Chosen => ({
  ...typed,
  isReady: (kind) => kind !== "settle" || typed.happened !== undefined,
  said: (kind) => saidFor(kind, typed),
});

/** Nothing yet. */
export const chosenFor = (): Chosen =>
  made({ reason: "", happened: undefined, output: "", by: keptName(), days: 30 });

function saidFor(
  kind: BulkKind,
  { reason, happened, output, by, days }: Typed,
): Omit<BulkBody, "items" | "id"> {
  const why = reason === "" ? {} : { reason };
  if (kind === "cancel") return why;
  if (kind === "archive") return { days };
  if (kind === "retry") return {};
  const isNamed = me.now()?.name !== undefined;
  if (!isNamed) keepName(by);
  return {
    finding:
      happened === true
        ? { outcome: "happened", output: jsonOrText(output) }
        : { outcome: "did_not_happen", ...why },
    ...(by === "" || isNamed ? {} : { by }),
  };
}

interface Props {
  readonly kind: BulkKind;
  readonly chosen: Chosen;
  readonly onChosen: (chosen: Chosen) => void;
  readonly folder: string | undefined;
}

export function BulkFields({ kind, chosen, onChosen, folder }: Props) {
  const change = (some: Partial<Typed>) => onChosen(made({ ...chosen, ...some }));
  if (kind === "retry") return null;
  if (kind === "archive")
    return (
      <label>
        Those that ended
        <select
          value={String(chosen.days)}
          onChange={(event) => change({ days: Number(event.currentTarget.value) })}
        >
          <option value="90">90 days ago or more</option>
          <option value="30">30 days ago or more</option>
          <option value="7">7 days ago or more</option>
          <option value="0">just now, too</option>
        </select>
        <span class="help muted">
          {folder === undefined ? "" : `To ${folder}, on the machine of the console. `}
          {chosen.days === 0 ? "What still comes for them is set aside." : ""}
        </span>
      </label>
    );
  return (
    <>
      {kind === "settle" ? <Answer chosen={chosen} change={change} /> : null}
      {kind === "settle" && chosen.happened === true ? null : (
        <label>
          Why?
          <textarea
            rows={2}
            value={chosen.reason}
            onInput={(event) => change({ reason: event.currentTarget.value })}
          />
        </label>
      )}
    </>
  );
}

interface AnswerProps {
  readonly chosen: Chosen;
  readonly change: (some: Partial<Typed>) => void;
}

function Answer({ chosen, change }: AnswerProps) {
  const isNamed = useStore(me)?.name !== undefined;
  return (
    <>
      <fieldset>
        <legend>Did they happen?</legend>
        {[true, false].map((one) => (
          <label key={String(one)} class="radio">
            <input
              type="radio"
              name="happened"
              checked={chosen.happened === one}
              onChange={() => change({ happened: one })}
            />
            {one ? "they happened" : "they did not happen"}
          </label>
        ))}
      </fieldset>
      {chosen.happened === true ? (
        <label>
          What each gave: JSON
          <textarea
            rows={3}
            class="code"
            value={chosen.output}
            onInput={(event) => change({ output: event.currentTarget.value })}
          />
        </label>
      ) : null}
      {isNamed ? null : (
        <label>
          Your name <span class="muted">(where people are asked about it)</span>
          <input value={chosen.by} onInput={(event) => change({ by: event.currentTarget.value })} />
        </label>
      )}
    </>
  );
}
