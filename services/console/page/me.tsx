/** Me: who looks at this page, and whether they may act here. What they may not do is not offered; the server refuses it besides. */
import type { MeDocument } from "../documents.ts";
import { isShut } from "./api.ts";
import { createStore, useStore } from "./store.ts";

/** Undefined until the server has said it. */
export const me = createStore<MeDocument | undefined>(undefined);

export const useMayAct = (): boolean => useStore(me)?.mayAct === true;

/** Says at the page's foot who may act, and why. */
export function Foot() {
  const who = useStore(me);
  if (who === undefined) return null;
  return (
    <footer class="foot muted">
      {sentence(who)}{" "}
      {who.by === "token" ? (
        <button class="link" onClick={() => isShut.set(true)}>
          Show another token
        </button>
      ) : null}
    </footer>
  );
}

function sentence({ by, name, mayAct }: MeDocument): string {
  if (by === "machine")
    return "This console asks for no password: only this machine reaches it, and whoever does may act.";
  const may = mayAct ? "may look and act" : "may look, and not act";
  return by === "proxy" ? `You are ${name ?? ""} and ${may}.` : `By the token that was shown you ${may}.`;
}
