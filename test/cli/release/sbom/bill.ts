/** The field rules of CycloneDX 1.6, as far as our bills use them: whatever else is in one is refused. */
import * as z from "zod";

const purl = z.string().regex(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d[\w.+-]*$/);
const ref = z.string().min(1);

export const billSchema = z.strictObject({
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  serialNumber: z.string().regex(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  version: z.int().min(1),
  metadata: z.strictObject({
    timestamp: z.iso.datetime({ offset: true }).optional(),
    component: z.strictObject({
      type: z.literal("application"),
      "bom-ref": ref,
      name: z.string(),
      version: z.string(),
      description: z.string(),
    }),
  }),
  components: z.array(
    z.strictObject({
      type: z.literal("library"),
      "bom-ref": ref,
      group: z.string().startsWith("@").optional(),
      name: z.string().regex(/^[\w.-]+$/),
      version: z.string(),
      scope: z.enum(["required", "optional"]),
      hashes: z
        .array(z.strictObject({ alg: z.literal("SHA-512"), content: z.string().regex(/^[0-9a-f]{128}$/) }))
        .min(1),
      licenses: z
        .array(
          z.union([
            z.strictObject({ license: z.strictObject({ id: z.string().regex(/^[\w.+-]+$/) }) }),
            z.strictObject({ expression: z.string().regex(/ (OR|AND|WITH) /) }),
          ]),
        )
        .length(1),
      purl,
    }),
  ),
  dependencies: z.array(z.strictObject({ ref, dependsOn: z.array(ref) })),
});
