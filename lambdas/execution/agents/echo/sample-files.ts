/** The files that the echo agent can answer with. */
import type { Artifact } from "../../../../contracts/methods.ts";

export type SampleFile = "table" | "image";

const table = [
  ["station", "name", "travellers"],
  ["1", "箱根", "1204"],
  ["2", "新居", "873"],
  ["3", "碓氷", "645"],
];

/** A red gate, 32 pixels wide and high. */
const gate =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAACVBMVEX////ZOh8zKytUaly0AAAAO0lEQVR42mNgwA20VoHBCgSDNRQMAvAxGBgDGB1YHRjw" +
  "MkRBakOwMhgDGBigimnF4FrBwKC1AJmBEwAAEkAk5nmo77YAAAAASUVORK5CYII=";

export const sampleFiles: Readonly<Record<SampleFile, Artifact>> = {
  table: {
    name: "checkpoints.csv",
    mimetype: "text/csv",
    text: table.map((row) => `${row.join(",")}\n`).join(""),
  },
  image: { name: "gate.png", mimetype: "image/png", base64: gate },
};
