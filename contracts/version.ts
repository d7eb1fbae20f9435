/** The semantic version of the contract in `contracts/generated`. A new major version breaks older peers. */
export const contractVersion = "1.1.0";
