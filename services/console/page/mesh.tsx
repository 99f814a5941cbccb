/** Mesh: what is wrong with it, who serves what, what waits where, and what was set aside. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Latencies, LatenciesDocument, MeshDocument } from "../documents.ts";
import { type Asked, useAsked } from "./api.ts";
import { Letters } from "./letters.tsx";
import { Refused, Status, useTitle, Waiting, When } from "./marks.tsx";
import { sagaAt } from "./route.ts";
import { type Look, lookAt, Rates } from "./rates.tsx";
import { Stale } from "./stale.tsx";
import { bytes, count, lasted, many, moment } from "./words.ts";

const againEveryMs = 4_000;
/** Ten minutes of looks. */
const looksMax = 150;

export function MeshView() {
  useTitle("Mesh");
  const { data, error, again } = useAsked<MeshDocument>("/mesh");
  const [looks, setLooks] = useState<readonly Look[]>([]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && again(), againEveryMs);
    return () => clearInterval(timer);
  }, [again]);
  useEffect(() => {
    if (data === undefined) return;
    setLooks((before) =>
      before.at(-1)?.at === data.at ? before : [...before, lookAt(data)].slice(-looksMax),
    );
  }, [data]);
  return (
    <main class="mesh">
      <h1>Mesh</h1>
      {error === undefined ? null : <Refused error={error} />}
      {data === undefined ? (
        error === undefined ? (
          <Waiting lines={12} />
        ) : null
      ) : (
        <Whole data={data} looks={looks} again={again} />
      )}
    </main>
  );
}

interface WholeProps {
  readonly data: MeshDocument;
  readonly looks: readonly Look[];
  readonly again: () => void;
}

function Whole({ data, looks, again }: WholeProps) {
  const { doctor, at } = data;
  const { server } = doctor;
  const latencies = useLatencies();
  return (
    <>
      <p class="found muted">
        {server === undefined ? "no server was reached" : `NATS ${server.version} at ${server.url}`}, looked
        at {moment(at)}
      </p>
      <Findings doctor={doctor} />
      <Rates looks={looks} latencies={latencies.data} />
      <Hosts data={data} />
      <Partitions partitions={doctor.partitions} />
      <Tools tools={doctor.tools} />
      <Throttles throttles={data.throttles} />
      <Calls {...latencies} />
      <Letters letters={data.letters} inAll={data.lettersInAll} again={again} />
      <Stores doctor={doctor} />
    </>
  );
}

type Doctor = MeshDocument["doctor"];

function Findings({ doctor: { findings, paused } }: { readonly doctor: Doctor }) {
  const bad = findings.filter(({ severity }) => severity !== "fine");
  const fine = findings.filter(({ severity }) => severity === "fine");
  return (
    <section aria-label="findings">
      <h2>{bad.length === 0 ? "All is well" : many(bad.length, "finding")}</h2>
      <ul class="plain">
        {bad.map(({ severity, code, what, remedy }, k) => (
          <li key={k} class="finding">
            <Status status={severity} /> {what} <code>{code}</code>
            <br />
            <span class="muted">{remedy}</span>
          </li>
        ))}
        {paused.map(({ kind, name, at, by, reason }) => (
          <li key={`${kind} ${name}`} class="finding">
            <Status status="paused" /> the {kind} {name}, by {by} since {moment(at)}
            {reason === undefined ? "" : `: ${reason}`}
          </li>
        ))}
      </ul>
      <details>
        <summary class="muted">{many(fine.length, "thing")} as they should be</summary>
        <ul class="plain muted">
          {fine.map(({ what }, k) => (
            <li key={k}>{what}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

interface TableProps {
  readonly title: string;
  readonly head: readonly string[];
  readonly empty: string;
  readonly children: readonly ComponentChildren[];
}

function Table({ title, head, empty, children }: TableProps) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children.length === 0 ? (
        <p class="muted">{empty}</p>
      ) : (
        <div class="wide" tabIndex={0} role="region" aria-label={`table of ${title}`}>
          <table>
            <thead>
              <tr>
                {head.map((one) => (
                  <th key={one} scope="col">
                    {one}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{children}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Hosts({ data: { doctor, serving, at } }: { readonly data: MeshDocument }) {
  const serves = new Map(serving.map((one) => [one.host, one.serves]));
  return (
    <>
      <Table title="Hosts" head={["host", "partitions", "serves", "load", "since"]} empty="No host is there.">
        {doctor.hosts.map(({ host, partitions, draining, since, weight }) => (
          <tr key={host}>
            <td class="id">
              {host} {draining ? <Status status="draining" /> : null}
            </td>
            <td>{partitions.join(", ") || "none yet"}</td>
            <td>
              {serves
                .get(host)
                ?.map(({ name, version }) => `${name}@${version}`)
                .join(", ") ?? ""}
            </td>
            <td>{weight === undefined ? "" : `${Math.round(weight.load * 100)} % (${weight.by})`}</td>
            <td>{since === undefined ? "" : <When at={since} now={at} />}</td>
          </tr>
        ))}
      </Table>
      <Table title="Definitions" head={["definition", "kind", "served by"]} empty="None was ever served.">
        {doctor.definitions.map(({ name, version, hash, kind }) => {
          const by = serving.filter((one) => one.serves.some((other) => other.hash === hash));
          return (
            <tr key={`${name} ${hash}`}>
              <td>
                {name}@{version} <code class="muted">{hash.slice(0, 12)}</code>
              </td>
              <td>{kind}</td>
              <td>{by.length === 0 ? <span class="muted">no host now</span> : many(by.length, "host")}</td>
            </tr>
          );
        })}
      </Table>
    </>
  );
}

const Partitions = ({ partitions }: { readonly partitions: Doctor["partitions"] }) => (
  <Table
    title="Partitions"
    head={["partition", "host", "waiting", "held", "again", "lag", "oldest"]}
    empty="There is none."
  >
    {partitions.map(({ partition, host, waiting, held, redelivered, lagMs, oldestAgeMs, oldestSaga }) => (
      <tr key={partition}>
        <td>{partition}</td>
        <td class="id">{host ?? <span class="bad">none</span>}</td>
        <td>{count(waiting)}</td>
        <td>{count(held)}</td>
        <td>{count(redelivered)}</td>
        <td>{lagMs === undefined ? "" : lasted(lagMs)}</td>
        <td>
          {oldestAgeMs === undefined ? "" : lasted(oldestAgeMs)}{" "}
          {oldestSaga === undefined ? null : <a href={sagaAt(oldestSaga)}>{oldestSaga}</a>}
        </td>
      </tr>
    ))}
  </Table>
);

const Tools = ({ tools }: { readonly tools: Doctor["tools"] }) => (
  <Table
    title="Tools of workers"
    head={["tool", "waiting", "held", "again", "lag", "workers"]}
    empty="No worker serves any, and nothing waits for one."
  >
    {tools.map(({ name, contract, version, waiting, held, redelivered, lagMs, workers, paused }) => (
      <tr key={contract}>
        <td>
          {name}
          {version === undefined ? "" : `@${version}`}
        </td>
        <td>{count(waiting)}</td>
        <td>{count(held)}</td>
        <td>{count(redelivered)}</td>
        <td>{lagMs === undefined ? "" : lasted(lagMs)}</td>
        <td>{paused ? <Status status="paused" /> : workers ? "there" : <span class="bad">none</span>}</td>
      </tr>
    ))}
  </Table>
);

const Throttles = ({ throttles }: { readonly throttles: MeshDocument["throttles"] }) => (
  <Table
    title="Held back"
    head={["what", "running", "processes that wait", "begins again"]}
    empty="No tool and no model is held back."
  >
    {throttles.map(({ kind, name, held, waiting, closedMs, nextMs, paused }) => (
      <tr key={`${kind} ${name}`}>
        <td>
          {kind} {name}
        </td>
        <td>{count(held)}</td>
        <td>{count(waiting)}</td>
        <td>
          {paused !== undefined ? (
            <>
              <Status status="paused" /> by {paused.by}
            </>
          ) : closedMs !== undefined ? (
            `in ${lasted(closedMs)}: its provider asked for it`
          ) : nextMs !== undefined ? (
            `in ${lasted(nextMs)}, by its rate`
          ) : (
            "as soon as one ends"
          )}
        </td>
      </tr>
    ))}
  </Table>
);

const tookEveryMs = 30_000;

/** How long calls took. Each time it is asked is a question to the tables, so it is asked seldom. */
function useLatencies(): Asked<LatenciesDocument> {
  const asked = useAsked<LatenciesDocument>("/latencies");
  const { again } = asked;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && again(), tookEveryMs);
    return () => clearInterval(timer);
  }, [again]);
  return asked;
}

function Calls({ data, error, again }: Asked<LatenciesDocument>) {
  if (data === undefined) return error === undefined ? <Waiting lines={4} /> : <Refused error={error} />;
  return (
    <>
      <TookOf title="Tools in the last hour" of={data.tools} />
      <TookOf title="Models in the last hour" of={data.models} />
      <p class="muted">
        {data.isCut ? "Of the newest calls. " : ""}From the decision to the result; not those about which
        people or the outside were asked.
      </p>
      <p>
        <Stale at={data.at} again={again} />
      </p>
    </>
  );
}

const TookOf = ({ title, of }: { readonly title: string; readonly of: Latencies }) => (
  <Table title={title} head={["name", "calls", "not done", "p50", "p95", "longest"]} empty="Nothing ended.">
    {of.names.map(({ name, calls, failed, p50, p95, longest }) => (
      <tr key={name}>
        <td>{name}</td>
        <td>{count(calls)}</td>
        <td>{count(failed)}</td>
        <td>{lasted(p50)}</td>
        <td>{lasted(p95)}</td>
        <td>{lasted(longest)}</td>
      </tr>
    ))}
  </Table>
);

function Stores({ doctor: { streams, storage, durability } }: { readonly doctor: Doctor }) {
  return (
    <>
      <Table title="Streams" head={["stream", "messages", "size", "copies", ""]} empty="There is none.">
        {streams.map(({ name, messages, bytes: size, replicas, fault }) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{count(messages)}</td>
            <td>{bytes(size)}</td>
            <td>{replicas}</td>
            <td class="bad">{fault ?? ""}</td>
          </tr>
        ))}
      </Table>
      <section aria-label="storage">
        <h2>Storage</h2>
        <ul class="plain">
          {storage.map(({ of, leftBytes, allBytes }) => (
            <li key={of}>
              {of}: {bytes(leftBytes)} of {bytes(allBytes)} left
            </li>
          ))}
          {durability.map((sentence) => (
            <li key={sentence} class="muted">
              {sentence}
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}
