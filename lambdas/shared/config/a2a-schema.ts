/** How the Execution host presents itself to A2A clients: what its agent card says, and who signs it. */
import * as z from "zod";
import { httpUrl, roleArnSchema, secretSchema } from "./values.ts";

/** Text that a card needs: one that is empty may not be in it (A2A 1.0, section 5.7), and a verifier would leave it out. */
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
  keyId: cardText(256).describe("By this id whoever verifies finds the public key (kid)."),
  algorithm: z.enum(["ES256", "RS256", "EdDSA"]).default("ES256"),
  jku: httpUrl().optional().describe("Where the public keys are (a JSON Web Key Set)."),
});
export type CardSignatureConfig = z.infer<typeof signatureSchema>;

const providerSchema = z.strictObject({ organization: cardText(256), url: httpUrl() });

export const a2aSchema = z
  .strictObject({
    url: httpUrl()
      .optional()
      .describe(
        "Where A2A clients send their requests: the host's public address. Default: where it listens, if that is loopback; elsewhere A2A is not served without it.",
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
      .describe("Skills that only the extended card names, which callers read who have proven who they are."),
    provider: providerSchema.optional(),
    documentationUrl: httpUrl().optional(),
    iconUrl: httpUrl().optional(),
    tenant: cardText(256).optional().describe("What clients must send as tenant; others are refused."),
    deduplicate: z
      .boolean()
      .default(true)
      .describe(
        "A message id that comes again means the same message, which runs nothing twice. Off only for test kits that use ids again.",
      ),
    callers: z
      .array(roleArnSchema)
      .default([])
      .describe("On Lambda: the roles that may call the Function URL as A2A clients, beside the Verification zone."),
    signature: signatureSchema.optional().describe("Left out: the cards are not signed."),
    push: z
      .strictObject({
        allowLoopback: z
          .boolean()
          .default(false)
          .describe("Push notifications may go to this machine, and by http there. For tests."),
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
