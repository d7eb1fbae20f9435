/** JSON Schemas of zod schemas, for every validator: strict ones refuse formats that they do not know. */
import type * as z from "zod";

/** The options for `z.toJSONSchema`. Schemas describe a shape as its receiver accepts it, so unknown members are allowed. */
export const jsonSchemaOptions = {
  io: "input",
  /** A format says no more than the pattern beside it, and `base64` is a format of zod alone. */
  override({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
    if (jsonSchema.pattern !== undefined) delete jsonSchema.format;
  },
} as const satisfies z.core.ToJSONSchemaParams;
