/** The configuration of the Execution host as an A2A agent: the contents of its agent card, and the card's signature. */
import * as z from "zod";
import { httpUrl, roleArnSchema, secretSchema } from "./values.ts";

/** A text of the card. A card must not contain an empty text (A2A 1.0, section 5.7), and a verifier would drop it. */
function cardText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.trim() !== "", "a text that is not empty");
}

const skillSchema = z.strictObject({
  id: cardText(256),
  name: cardText(256),
  description: cardText(10_000),
  tags: z.array(cardText(256)).min(1, "at least one tag").max(50),
  examples: z.array(cardText(10_000)).min(1, "leave it out, or give an example").max(50).optional(),
});
type Skill = z.infer<typeof skillSchema>;

const signatureSchema = z.strictObject({
  key: secretSchema.describe("The private key, PEM (PKCS#8)."),
  keyId: cardText(256).describe("The id by which verifiers find the public key (kid)."),
  algorithm: z.enum(["ES256", "RS256", "EdDSA"]).default("ES256"),
  jku: httpUrl().optional().describe("The URL of the public keys (a JSON Web Key Set)."),
});
export type CardSignatureConfig = z.infer<typeof signatureSchema>;

const providerSchema = z.strictObject({ organization: cardText(256), url: httpUrl() });

export const a2aSchema = z
  .strictObject({
    url: httpUrl()
      .optional()
      .describe(
        "The host's public address, where A2A clients send their requests. Default: where it listens, if that is loopback. Anywhere else, A2A is not served without it.",
      ),
    name: cardText(256).default("Sekisho"),
    description: cardText(10_000).default("Runs tasks and answers with their results."),
    version: cardText(64).default("1.0.0").describe("The agent's own version, not the protocol's."),
    skills: z
      .array(skillSchema)
      .min(1, "at least one; left out, there is one with the agent's name and description")
      .max(100)
      .optional(),
    extendedSkills: z
      .array(skillSchema)
      .min(1, "at least one; left out, there is no extended card")
      .max(100)
      .optional()
      .describe("Skills that only the extended card names. Only authenticated callers can read that card."),
    provider: providerSchema.optional(),
    documentationUrl: httpUrl().optional(),
    iconUrl: httpUrl().optional(),
    tenant: cardText(256).optional().describe("The tenant that clients must send. Others are refused."),
    deduplicate: z
      .boolean()
      .default(true)
      .describe(
        "A repeated message id means the same message, so that nothing runs twice. Turn it off only for test kits that reuse ids.",
      ),
    callers: z
      .array(roleArnSchema)
      .default([])
      .describe(
        "On Lambda: the roles that may call the Function URL as A2A clients, in addition to the Verification zone.",
      ),
    signature: signatureSchema.optional().describe("Without it, the cards are not signed."),
    push: z
      .strictObject({
        allowLoopback: z
          .boolean()
          .default(false)
          .describe("Allows push notifications to this machine, also by http. For tests."),
      })
      .prefault({}),
  })
  .superRefine(({ skills = [], extendedSkills = [], url, callers }, context) => {
    if (url === undefined && callers.length > 0) {
      const message = "only a host that A2A clients reach has callers; give its address as url";
      context.addIssue({ code: "custom", path: ["callers"], message });
    }
    for (const { path, id } of repeatedIds({ skills, extendedSkills })) {
      context.addIssue({ code: "custom", path, message: `another skill has the id "${id}" too` });
    }
  })
  .transform((a2a) => ({ ...a2a, skills: a2a.skills ?? [onlySkill(a2a)] }));
export type A2aConfig = z.infer<typeof a2aSchema>;

function repeatedIds(lists: { skills: Skill[]; extendedSkills: Skill[] }): { path: (string | number)[]; id: string }[] {
  const all = Object.entries(lists).flatMap(([name, skills]) =>
    skills.map(({ id }, index) => ({ path: [name, index, "id"], id })),
  );
  return all.filter(({ id }, index) => all.findIndex((other) => other.id === id) < index);
}

function onlySkill({ name, description }: { name: string; description: string }): Skill {
  return { id: "task", name, description, tags: ["task"] };
}
