/** The page of a webview: nothing inline, nothing remote, only what the extension ships. */

export interface Page {
  readonly title: string;
  /** What the webview calls the extension's own files. */
  readonly source: string;
  /** Unguessable, new for every page. */
  readonly nonce: string;
  readonly script: string;
  readonly style: string;
  /** What the page is about, read by its script. */
  readonly data: Readonly<Record<string, string>>;
}

export function pageHtml(page: Page): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${page.nonce}'`,
    `style-src ${page.source}`,
    `font-src ${page.source}`,
    `img-src ${page.source}`,
  ].join("; ");
  const data = Object.entries(page.data)
    .map(([name, value]) => ` data-${name}="${escaped(value)}"`)
    .join("");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(page.title)}</title>
<link rel="stylesheet" id="vscode-codicon-stylesheet" href="${escaped(page.style)}">
</head>
<body>
<zt-tensor${data}></zt-tensor>
<script type="module" nonce="${escaped(page.nonce)}" src="${escaped(page.script)}"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${String(found.charCodeAt(0))};`);
}
