/** Fork: a saga that shares the first turns of another, and goes on with another model, other words, or the same once more. */
import { useState } from "preact/hooks";
import type { ForkBody, ForkedAnswer, TakesDocument } from "../documents.ts";
import { post, useAsked } from "./api.ts";
import { Asking, newId } from "./asking.tsx";
import { go, sagaAt } from "./route.ts";

const effects = {
  simulated: "simulated: nothing outside is touched",
  forbidden: "forbidden: a new call is refused",
  live: "live: performed, under keys of the fork's own",
} as const;
type Effects = keyof typeof effects;

interface Props {
  readonly saga: string;
  /** The last turn that both share. */
  readonly turn: number;
  readonly onClose: () => void;
}

export function ForkDialog({ saga, turn, onClose }: Props) {
  const base = `/sagas/${encodeURIComponent(saga)}`;
  const { data: takes } = useAsked<TakesDocument>(`${base}/takes`);
  const [id] = useState(() => newId().slice(0, 12));
  const [model, setModel] = useState("");
  const [instructions, setInstructions] = useState("");
  const [how, setHow] = useState<Effects>("simulated");
  const send = async () => {
    const body: ForkBody = {
      ...{ turn, id, effects: how },
      ...(model === "" ? {} : { model }),
      ...(instructions.trim() === "" ? {} : { instructions }),
    };
    const { saga: forked } = (await post(`${base}/forks`, body)) as ForkedAnswer;
    go(sagaAt(forked, "?tab=beside"));
  };
  return (
    <Asking
      title="Fork"
      about={`${saga} after turn ${turn}`}
      isGrave={how === "live"}
      isReady={takes !== undefined}
      send={send}
      onClose={onClose}
    >
      <p>What it did up to that turn is taken over. A decision that was open then is asked anew.</p>
      <label>
        Its model
        <input
          list="fork-models"
          placeholder="the same"
          value={model}
          autocapitalize="off"
          onInput={(event) => setModel(event.currentTarget.value.trim())}
        />
        <datalist id="fork-models">
          {takes?.models.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </label>
      <label>
        Instructions in place of its own <span class="muted">(may be left out)</span>
        <textarea
          rows={3}
          value={instructions}
          onInput={(event) => setInstructions(event.currentTarget.value)}
        />
      </label>
      <label>
        Effects
        <select value={how} onChange={(event) => setHow(event.currentTarget.value as Effects)}>
          {Object.entries(effects).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </Asking>
  );
}
