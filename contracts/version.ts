/** The version of the zone contract, by semantic versioning: a new major one where an older peer would no longer understand. */

/** Of what `contracts/generated` describes; `contracts/released/` keeps each one that was released as it was. */
export const contractVersion = "1.0.0";
