// Rules of this extension's TypeScript and of its build scripts.
import tseslint from "typescript-eslint";

const NO_VSCODE = {
  paths: [{ name: "vscode", message: "Only the extension host has it: src/debug and src/features." }],
};

export default tseslint.config(
  { ignores: ["dist/", "bundled/", "build/", "src/wire/generated.ts", "src/wire/shapes.ts"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: true }],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      // An unused name with an underscore says what is left out of an object.
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "none" },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-empty-function": ["error", { allow: ["methods"] }],
      // An empty string is as good as none.
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: { string: true } }],
      // The editor's API declares as classes what any object with those methods may be.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // noUncheckedIndexedAccess and dotted access to index signatures do not go together.
      "@typescript-eslint/dot-notation": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "no-console": "error",
      eqeqeq: "error",
      curly: ["error", "multi-line"],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["src/pure/**", "src/wire/**", "webviews/**"],
    rules: { "no-restricted-imports": ["error", NO_VSCODE] },
  },
  {
    // Loops over pixels: the index is in range by construction, and a check would cost.
    files: ["src/pure/tensor*.ts", "webviews/**"],
    rules: { "@typescript-eslint/no-non-null-assertion": "off" },
  },
  {
    // Lit binds the handlers of a template to its element.
    files: ["webviews/**"],
    rules: { "@typescript-eslint/unbound-method": "off" },
  },
  {
    files: ["test/**"],
    rules: { "max-lines-per-function": "off", "@typescript-eslint/no-non-null-assertion": "off" },
  },
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: { process: "readonly", console: "readonly", structuredClone: "readonly", URL: "readonly" },
    },
    rules: { "no-undef": "error", "no-unused-vars": ["error", { varsIgnorePattern: "^(_|title)" }] },
  },
);
