/** The configuration of the Execution host as an A2A agent: the contents of its agent card, and the card's signature. */
import * as z from "zod";
import { httpUrl, roleArnSchema, secretSchema } from "./values.ts";

/** A text of the card. It must not be empty (A2A 1.0, section 5.7), because a verifier drops empty texts and the signature breaks. */
function cardText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.trim() !== "", "must not be empty");
}

const skillSchema = z.strictObject({
  id: cardText(256).describe("The id of the skill, which no other skill has."),
  name: cardText(256).describe("The name of the skill."),
  description: cardText(10_000).describe("What the skill does."),
  tags: z
    .array(cardText(256))
    .min(1, "must have at least one tag")
    .max(50)
    .describe("Words by which it is found."),
  examples: z
    .array(cardText(10_000))
    .min(1, "must not be empty; add an example or leave it out")
    .max(50)
    .optional()
    .describe("Messages that the skill understands."),
});
type Skill = z.infer<typeof skillSchema>;

const signatureSchema = z.strictObject({
  key: secretSchema.describe("The private key that signs the cards, as PEM (PKCS#8)."),
  keyId: cardText(256).describe("The key id (kid), by which verifiers find the public key."),
  algorithm: z
    .enum(["ES256", "RS256", "EdDSA"])
    .default("ES256")
    .describe("The signature algorithm, which must fit the key."),
  jku: httpUrl()
    .optional()
    .describe("The URL of the public keys, a JSON Web Key Set. Default: none."),
});
export type CardSignatureConfig = z.infer<typeof signatureSchema>;

const providerSchema = z.strictObject({
  organization: cardText(256).describe("The name of the organization."),
  url: httpUrl().describe("The URL of its website."),
});

export const a2aSchema = z
  .strictObject({
    url: httpUrl()
      .optional()
      .describe(
        "The public URL for A2A clients. Default: the host's own address on loopback; elsewhere no A2A.",
      ),
    name: cardText(256).default("Sekisho").describe("The agent's name on its card."),
    description: cardText(10_000)
      .default("Runs tasks and answers with their results.")
      .describe("What the agent does, on its card."),
    version: cardText(64)
      .default("1.0.0")
      .describe("The agent's own version on its card, not the version of A2A."),
    skills: z
      .array(skillSchema)
      .min(1, "must not be empty; leave it out for one skill with the agent's name and description")
      .max(100)
      .optional()
      .describe(
        "The skills on the card. Default: one skill with the agent's name and description.",
      ),
    extendedSkills: z
      .array(skillSchema)
      .min(1, "must not be empty; leave it out for no extended card")
      .max(100)
      .optional()
      .describe(
        "More skills, on the extended card for authenticated callers. Default: no extended card.",
      ),
    provider: providerSchema
      .optional()
      .describe("The organization that provides the agent. Default: not on the card."),
    documentationUrl: httpUrl()
      .optional()
      .describe("The URL of the agent's documentation. Default: not on the card."),
    iconUrl: httpUrl()
      .optional()
      .describe("The URL of the agent's icon. Default: not on the card."),
    tenant: cardText(256)
      .optional()
      .describe("The tenant that clients must send. Default: clients must send none."),
    cardVersion: z
      .enum(["1.0", "0.3"])
      .default("0.3")
      .describe(
        "The card for clients that name no version. 0.3: both versions read it. 1.0: for clients that check signatures or the schema.",
      ),
    deduplicate: z
      .boolean()
      .default(true)
      .describe("A message with a known message id does not run again. false is for test kits."),
    callers: z
      .array(roleArnSchema)
      .default([])
      .describe(
        "On AWS: ARNs of roles that may call as A2A clients, beside the Verification zone.",
      ),
    signature: signatureSchema
      .optional()
      .describe("Signs the agent cards. Default: they are not signed."),
    push: z
      .strictObject({
        allowLoopback: z
          .boolean()
          .default(false)
          .describe("Allows push to this machine, also over http. For tests."),
      })
      .prefault({})
      .describe("Push notifications to A2A clients."),
  })
  .superRefine(({ skills = [], extendedSkills = [] }, context) => {
    for (const { path, id } of repeatedIds({ skills, extendedSkills })) {
      context.addIssue({
        code: "custom",
        path,
        message: `another skill has the id "${id}" too; ids must be unique`,
      });
    }
  })
  .transform((a2a) => ({ ...a2a, skills: a2a.skills ?? [onlySkill(a2a)] }));
export type A2aConfig = z.infer<typeof a2aSchema>;

function repeatedIds(lists: {
  skills: Skill[];
  extendedSkills: Skill[];
}): { path: (string | number)[]; id: string }[] {
  const all = Object.entries(lists).flatMap(([name, skills]) =>
    skills.map(({ id }, index) => ({ path: [name, index, "id"], id })),
  );
  return all.filter(({ id }, index) => all.findIndex((other) => other.id === id) < index);
}

function onlySkill({ name, description }: { name: string; description: string }): Skill {
  return { id: "task", name, description, tags: ["task"] };
}
