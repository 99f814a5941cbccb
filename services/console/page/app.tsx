/** App: the frame around every view. */
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import type { MeDocument } from "../documents.ts";
import { isShut, useAsked } from "./api.ts";
import { CostView } from "./cost.tsx";
import { keyHelp, useKeys } from "./keys.ts";
import { counts, hear, isHeard } from "./live.ts";
import { Foot, me } from "./me.tsx";
import { MeshView } from "./mesh.tsx";
import { go, usePlace, useRouting } from "./route.ts";
import { SagaView } from "./saga.tsx";
import { SagasView } from "./sagas.tsx";
import { Shut } from "./shut.tsx";
import { Silence } from "./silence.tsx";
import { useStore } from "./store.ts";
import { TaskView } from "./task.tsx";
import { TasksView } from "./tasks.tsx";
import { nextTheme, theme } from "./theme.ts";

export function App() {
  useRouting();
  const shut = useStore(isShut);
  const [isHelp, setHelp] = useState(false);
  useKeys({
    "?": () => setHelp(true),
    s: () => go("/sagas"),
    t: () => go("/tasks"),
    m: () => go("/mesh"),
    c: () => go("/cost"),
    Escape: () => setHelp(false),
  });
  if (shut) return <Shut />;
  return (
    <>
      <Head onHelp={() => setHelp(true)} />
      <Silence />
      <View />
      <Foot />
      {isHelp ? <Help onClose={() => setHelp(false)} /> : null}
    </>
  );
}

function View() {
  const { words } = usePlace();
  const boundary = useErrorBoundary();
  const [broken, mend] = boundary as [unknown, () => void];
  const [kind = "sagas", one, two] = words;
  if (broken !== undefined)
    return (
      <main>
        <div class="refused" role="alert">
          <p>
            <strong>This view broke.</strong> {broken instanceof Error ? broken.message : ""}
          </p>
          <button onClick={mend}>Show it anew</button>
        </div>
      </main>
    );
  if (kind === "sagas" && one !== undefined) return <SagaView key={one} saga={one} />;
  if (kind === "tasks" && one !== undefined && two !== undefined)
    return <TaskView key={`${one}/${two}`} saga={one} intent={two} />;
  if (kind === "tasks") return <TasksView />;
  if (kind === "mesh") return <MeshView />;
  if (kind === "cost") return <CostView />;
  if (kind === "sagas") return <SagasView />;
  return (
    <main>
      <h1>Nothing is here</h1>
      <p>
        <a href="/sagas">All sagas</a>
      </p>
    </main>
  );
}

function Head({ onHelp }: { readonly onHelp: () => void }) {
  const { words } = usePlace();
  const asks = useStore(counts)?.asks ?? 0;
  const { data } = useAsked<MeDocument>("/me");
  useEffect(() => me.set(data), [data]);
  const current = words[0] ?? "sagas";
  const chosen = useStore(theme);
  const isOfOne = words[0] === "sagas" && words[1] !== undefined;
  useEffect(() => {
    if (!isOfOne) hear(); // A saga's view hears for itself.
  }, [isOfOne]);
  return (
    <header class="head">
      <a class="brand" href="/sagas">
        sagamesh
      </a>
      <nav aria-label="views">
        <a href="/sagas" aria-current={current === "sagas" ? "page" : undefined}>
          Sagas
        </a>
        <a href="/tasks" aria-current={current === "tasks" ? "page" : undefined}>
          Tasks{asks === 0 ? null : <span class="badge">{asks}</span>}
        </a>
        <a href="/mesh" aria-current={current === "mesh" ? "page" : undefined}>
          Mesh
        </a>
        <a href="/cost" aria-current={current === "cost" ? "page" : undefined}>
          Cost
        </a>
      </nav>
      <span class="server muted" title={data === undefined ? "" : `sagamesh ${data.version}`}>
        {data?.server ?? ""}
      </span>
      <Heard />
      <button class="quiet" onClick={nextTheme} title={`theme: ${chosen}`} aria-label={`theme: ${chosen}`}>
        {chosen === "auto" ? "◐" : chosen === "light" ? "○" : "●"}
      </button>
      <button class="quiet" onClick={onHelp} title="keys" aria-label="keys">
        ?
      </button>
    </header>
  );
}

const Heard = () => {
  const heard = useStore(isHeard);
  return (
    <span
      class={heard ? "heard" : "heard away"}
      role="status"
      aria-label={heard ? "live" : "not live"}
      title={heard ? "live" : "not live: it is tried again"}
    />
  );
};

function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <dialog class="help" open aria-label="keys">
      <h2>Keys</h2>
      <dl>
        {keyHelp.map(([key, does]) => (
          <div class="fact" key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button onClick={onClose}>Close</button>
    </dialog>
  );
}
