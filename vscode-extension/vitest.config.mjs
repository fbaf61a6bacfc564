// Unit tests: what runs in the extension host without an editor, and the webviews in a DOM.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "host", environment: "node", include: ["test/unit/host/**/*.test.ts"] } },
      {
        test: {
          name: "webviews",
          environment: "happy-dom",
          include: ["test/unit/webviews/**/*.test.ts"],
        },
      },
    ],
  },
});
