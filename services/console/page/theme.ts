/** Theme: light or dark as the system says, or as a person chose here. */
import { createStore } from "./store.ts";

export type Theme = "auto" | "light" | "dark";

const key = "sagamesh-theme";
const themes: readonly Theme[] = ["auto", "light", "dark"];

/** A browser may keep nothing for a page. */
function kept(): Theme {
  try {
    return themes.find((one) => one === localStorage.getItem(key)) ?? "auto";
  } catch {
    return "auto";
  }
}

export const theme = createStore<Theme>(kept());

/** Shows the theme that was chosen. */
export function applyTheme(): void {
  const chosen = theme.now();
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

/** The next one in turn. */
export function nextTheme(): void {
  const next = themes[(themes.indexOf(theme.now()) + 1) % themes.length] ?? "auto";
  theme.set(next);
  applyTheme();
  try {
    localStorage.setItem(key, next);
  } catch {
    // It holds for this visit.
  }
}
