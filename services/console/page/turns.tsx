/** Turns: the ledger as it is, a turn at a time. */
import type { Turn } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Fact, Refused, Waiting } from "./marks.tsx";
import { Value } from "./value.tsx";
import { moment } from "./words.ts";

export function TurnsTab({ saga, turn }: { readonly saga: string; readonly turn: number }) {
  const path = `/sagas/${encodeURIComponent(saga)}/turns/${turn}`;
  const { data, error } = useAsked<Turn>(path, true);
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={10} />;
  return (
    <div class="turn" tabIndex={0} role="region" aria-label={`turn ${turn}`}>
      <dl class="facts-list">
        <Fact name="turn">{data.turn}</Fact>
        <Fact name="decided">{moment(data.at)}</Fact>
        <Fact name="host">{data.host}</Fact>
        <Fact name="follows">
          <code class="wrap">{data.prev === "" ? "nothing: it is the first" : data.prev}</code>
        </Fact>
      </dl>
      {data.steps.map((step, k) => (
        <section key={k}>
          <h2>
            Step {k}: {step.event.type}
          </h2>
          <Value value={step} />
        </section>
      ))}
      <p>
        <a href={`/api${path}`} target="_blank" rel="noreferrer">
          this turn as JSON
        </a>
      </p>
    </div>
  );
}
