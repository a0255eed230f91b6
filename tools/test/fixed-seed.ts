/**
 * Loaded into runs that measure coverage: the same seed for every property, so that the result does not depend on which
 * branches a draw reaches. Other runs use new seeds.
 */
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_260_101 });
