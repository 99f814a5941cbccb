/** Cost: what was spent by day, agent and model, and whose budget is about to end. */
import type { CostDocument, NearBudget, Spent } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Refused, useTitle, Waiting } from "./marks.tsx";
import { chosen, go, sagaAt, usePlace } from "./route.ts";
import { Stale } from "./stale.tsx";
import { count, money } from "./words.ts";

const spans = [7, 30, 90] as const;

export function CostView() {
  useTitle("Cost");
  const { query } = usePlace();
  const days = spans.find((one) => String(one) === query.get("days")) ?? 30;
  const { data, error, again } = useAsked<CostDocument>(`/cost?days=${days}`, true);
  return (
    <main class="mesh">
      <h1>Cost</h1>
      <div class="chips" role="group" aria-label="how far back">
        {spans.map((one) => (
          <button
            key={one}
            class="chip"
            aria-pressed={one === days}
            onClick={() => go(chosen({ days: String(one) }), true)}
          >
            {one} days
          </button>
        ))}
        {data === undefined ? null : <Stale at={data.at} again={again} />}
      </div>
      {error === undefined ? null : <Refused error={error} />}
      {data === undefined ? error === undefined ? <Waiting lines={10} /> : null : <Whole data={data} />}
    </main>
  );
}

function Whole({ data: { days, agents, models, near, since } }: { readonly data: CostDocument }) {
  const usd = days.reduce((sum, day) => sum + day.usd, 0);
  const tokens = days.reduce((sum, day) => sum + day.tokens, 0);
  return (
    <>
      <p class="found muted" role="status">
        {money(usd)} and {count(tokens)} tokens since {since}, in days of UTC
      </p>
      <Near near={near} />
      <Bars title="By day" spent={days} />
      <Bars title="By agent" spent={agents} />
      <Bars title="By model" spent={models} />
    </>
  );
}

/** A bar for each, by its dollars; by its tokens where nothing has a price. */
function Bars({ title, spent }: { readonly title: string; readonly spent: readonly Spent[] }) {
  const isPriced = spent.some(({ usd }) => usd > 0);
  const sizeOf = (one: Spent) => (isPriced ? one.usd : one.tokens);
  const most = spent.reduce((largest, one) => Math.max(largest, sizeOf(one)), 0);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {spent.length === 0 ? <p class="muted">Nothing was spent.</p> : null}
      <ul class="bars plain">
        {spent.map((one) => (
          <li key={one.name}>
            <span class="id">{one.name}</span>
            <span class="line" aria-hidden="true">
              <span style={{ width: `${most === 0 ? 0 : (sizeOf(one) / most) * 100}%` }} />
            </span>
            <span>{money(one.usd)}</span>
            <span class="muted">
              {count(one.tokens)} tokens, {count(one.calls)} calls
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Near({ near }: { readonly near: readonly NearBudget[] }) {
  return (
    <section aria-label="budgets about to end">
      <h2>Budgets about to end</h2>
      {near.length === 0 ? <p class="muted">No saga that goes on has used most of its budget.</p> : null}
      <ul class="plain">
        {near.map(({ saga, limit, used, most }) => (
          <li key={`${saga} ${limit}`}>
            <a href={sagaAt(saga, "?tab=state")}>{saga}</a> has used{" "}
            {limit === "usd" ? money(used) : count(used)} of {limit === "usd" ? money(most) : count(most)}
            {limit === "usd" ? "" : ` ${limit}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
