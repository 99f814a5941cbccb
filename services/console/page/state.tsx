/** State: what a saga had, spent and left standing, now or after a turn. */
import type { ComponentChildren } from "preact";
import type { MemoryDocument, SagaDocument } from "../documents.ts";
import { RaiseBudget, takesActs } from "./acts.tsx";
import { useAsked } from "./api.ts";
import { Fact, Status, Waiting } from "./marks.tsx";
import { memoryPath, Remembers } from "./memory.tsx";
import { chosen, sagaAt } from "./route.ts";
import { Value } from "./value.tsx";
import { count, many, moment, money } from "./words.ts";

export const Part = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}) => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
);

export function StateTab({ document }: { readonly document: SagaDocument | undefined }) {
  if (document === undefined) return <Waiting lines={10} />;
  const { input, end, hosts, migrations } = document;
  return (
    <div class="state" tabIndex={0} role="region" aria-label="state">
      <Part title="Input">
        <Value value={input} />
      </Part>
      {end === undefined ? null : (
        <Part title="End">
          <Value value={end} />
        </Part>
      )}
      <Spending document={document} />
      {document.asOf === undefined ? <Memory document={document} /> : null}
      <Standing document={document} />
      <Troubles document={document} />
      {migrations === undefined ? null : (
        <Part title="Moves to other definitions">
          <ul class="plain">
            {migrations.map(({ turn, at, from, to }) => (
              <li key={turn}>
                {moment(at)}: {from.name}@{from.version} → {to.name}@{to.version}
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Part title={many(hosts.length, "host")}>
        <p class="muted wrap">{hosts.join(", ")}</p>
      </Part>
    </div>
  );
}

/** What it remembers, where that is known. It is read again with each turn. */
function Memory({ document: { saga, turns } }: { readonly document: SagaDocument }) {
  const { data } = useAsked<MemoryDocument>(`${memoryPath(saga)}?turns=${turns}`, true);
  if (data?.memory === undefined) return null;
  return (
    <Part title="Memory">
      <Remembers data={data} />
    </Part>
  );
}

/** What it left in the world, and the sagas it started. */
function Standing({ document: { effects, children, status } }: { readonly document: SagaDocument }) {
  return (
    <>
      {effects.length === 0 ? null : (
        <Part title={status === "running" ? "Effects that stand" : "Effects that stood at the end"}>
          <ul class="plain">
            {effects.map(({ intent, tool, key, outcome }) => (
              <li key={intent}>
                <Status status={outcome} /> {tool}{" "}
                <a href={chosen({ tab: undefined, at: intent, of: undefined })}>{intent}</a>{" "}
                <code class="muted">{key}</code>
              </li>
            ))}
          </ul>
        </Part>
      )}
      {children.length === 0 ? null : (
        <Part title={many(children.length, "child", "children")}>
          <ul class="plain">
            {children.map(({ saga, name, outcome, inLine, reason }) => (
              <li key={saga}>
                <Status status={outcome ?? (inLine === undefined ? "running" : "waits in line")} />{" "}
                <a href={sagaAt(saga)}>{saga}</a> {name} <span class="muted">{reason ?? ""}</span>
              </li>
            ))}
          </ul>
        </Part>
      )}
    </>
  );
}

/** What went wrong in its tools' bodies, and what its machine wrote down. */
function Troubles({ document: { failures, logged } }: { readonly document: SagaDocument }) {
  return (
    <>
      {failures === undefined ? null : (
        <Part title="Bodies that threw">
          <ul class="plain">
            {failures.map(({ intent, attempt, code, reason }) => (
              <li key={`${intent}#${attempt}`}>
                <code>{code}</code> {intent}, attempt {attempt}: {reason}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {logged === undefined ? null : (
        <Part title="Logged by its machine">
          <ul class="plain">
            {logged.map(({ turn, line }, k) => (
              <li key={k}>
                <span class="muted">#{turn}</span> <span class="text">{line}</span>
              </li>
            ))}
          </ul>
        </Part>
      )}
    </>
  );
}

function Spending({ document }: { readonly document: SagaDocument }) {
  const { spent, below, budget } = document;
  const limits = Object.entries(budget?.limits ?? {}).filter(([, most]) => typeof most === "number");
  return (
    <Part title="Spent">
      <dl class="facts-list">
        <Fact name="decisions">{count(spent.steps)}</Fact>
        <Fact name="tokens">
          {count(spent.inputTokens)} in, {count(spent.outputTokens)} out
        </Fact>
        <Fact name="dollars">{money(spent.usd)}</Fact>
        <Fact name="tool calls">{count(spent.toolCalls)}</Fact>
        {below === undefined ? null : <Fact name="by sagas below">{money(below.usd)}</Fact>}
      </dl>
      {limits.map(([name, most]) => {
        const used = (budget?.used as Record<string, number> | undefined)?.[name] ?? 0;
        return (
          <label class="meter" key={name}>
            <span>
              {name}: {count(used)} of {count(most)}
            </span>
            <meter min={0} max={most} value={used} high={most * 0.8} optimum={0} />
          </label>
        );
      })}
      {takesActs(document) && limits.length > 0 ? <RaiseBudget saga={document.saga} /> : null}
    </Part>
  );
}
