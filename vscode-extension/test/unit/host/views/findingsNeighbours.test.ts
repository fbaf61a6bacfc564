import { describe, expect, it } from "vitest";
import { evidenceRow, neighbourRows } from "../../../../src/pure/findingsNeighbours";
import type { HitDetails, Neighbour } from "../../../../src/wire/generated";

const near = (name: string, depth: number, op = name): Neighbour => ({
  name,
  depth,
  op,
  source: null,
  tensor: null,
});
const details = (parts: Partial<HitDetails>): HitDetails =>
  ({ evidence: [], upstream: [], downstream: [], ...parts }) as unknown as HitDetails;

describe("neighbours of a value", () => {
  it("are nested as deep as they are far away", () => {
    const upstream = [near("encoder.2", 1, "Linear"), near("relu", 2), near("encoder.1", 3), near("mask", 1)];
    const [tree] = neighbourRows("k", details({ upstream }));
    expect(tree?.label).toBe("Comes from");
    expect(tree?.description).toBe("encoder.2, mask");
    expect(tree?.children?.map((row) => [row.label, row.description])).toEqual([
      ["encoder.2", "Linear"],
      ["mask", ""],
    ]);
    expect(tree?.children?.[0]?.children?.[0]?.children?.[0]?.label).toBe("encoder.1");
  });

  it("have different ids, and go to their line", () => {
    const source = { path: "/p/net.py", line: 7, text: "y = self.fc(x)", column: null, end_column: null };
    const one = { ...near("fc", 1), source: { ...source, end_line: null, function: null } };
    const rows = neighbourRows("k", details({ upstream: [one, near("fc", 1)], downstream: [near("fc", 1)] }));
    const ids = rows.flatMap((row) => [row.id, ...(row.children ?? []).map((child) => child.id)]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rows[0]?.children?.[0]?.action?.args).toEqual([one.source]);
    expect(rows[0]?.children?.[0]?.description).toContain("net.py:7");
  });

  it("are not there for a finding without any", () => {
    expect(neighbourRows("k", details({}))).toEqual([]);
    expect(evidenceRow("k", details({}))).toEqual([]);
  });
});

describe("evidence", () => {
  it("shows its lines, the first one at a glance", () => {
    const [row] = evidenceRow("k", details({ evidence: ["layer  norm", "fc  3.2e+17"] }));
    expect(row?.description).toBe("layer  norm");
    expect(row?.children?.map((child) => child.label)).toEqual(["layer  norm", "fc  3.2e+17"]);
  });
});
