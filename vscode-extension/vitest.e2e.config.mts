import { defineConfig } from "vitest/config";

/** Real programs: a client that is not ours, then the real editor; one file at a time. */
export default defineConfig({
  test: {
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      { extends: true, test: { name: "dap", include: ["test/dap/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "editor",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/harness/install.ts"],
        },
      },
    ],
  },
});
