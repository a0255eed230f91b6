/**
 * Loaded into runs that measure coverage: the same seed for every property, so that which branches a draw happens to
 * reach does not decide whether the run passes. Other runs draw anew.
 */
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_260_101 });
