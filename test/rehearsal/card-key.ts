/** What the agent card of a rehearsed stage is signed with. */
import { generateKeyPairSync } from "node:crypto";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** As it is in Secrets Manager. */
export const cardKey = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
/** For those who verify. */
export const cardPublicKey = publicKey;
