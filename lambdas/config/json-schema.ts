/** The JSON Schema of `sekisho.config.json`, for completion and checks in editors. */
import * as z from "zod";
import { configFields } from "./schema.ts";

export const schemaFileName = "sekisho.config.schema.json";

/** The text of the schema file. */
export function configJsonSchema(): string {
  const schema = z.toJSONSchema(configFields, { io: "input" });
  return `${JSON.stringify({ title: "Sekisho configuration", ...schema }, null, 2)}\n`;
}
