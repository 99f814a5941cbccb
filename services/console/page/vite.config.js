// The page is built into one script and one style sheet that its own server sends: nothing is inlined, because the page's
// policy allows no inline script, and nothing is loaded from elsewhere.
import { defineConfig } from "vite";

export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
