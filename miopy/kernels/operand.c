/* operand.c: one step's second product, of cells one of whose gates multiplies not h but an operand
 * made of h and the other gates.
 *
 * The compiling side puts pointwise.c in front, and also defines
 *     cell_operand, cell_operand_backward        functions of the cell */

/* operand (rows, H), dense and masked, from the products of the other gates. */
KERNEL FN(operand_forward)(forward_step s, storage *operand)
{
    const real scalars[] = SCALARS_OF(s);
    const storage *mask = (const storage *)s.mask;
    EACH(e, s.rows * s.hidden_size) {
        const int64_t b = quotient(e, s.hidden_size), u = e - b * s.hidden_size;
        const int64_t mask_at = (s.order ? s.order[b] : b) * s.hidden_size + u;
        real given[GATES], pre[MOST_PLANES];
        const real prev[2] = {((const real *)s.h)[e], zero};
        load_given(given, &s, b, u);
        load_planes(pre, given, &s, b, u);
        const real made = cell_operand(scalars, pre, prev);
        operand[e] = to_storage(mask ? made * to_real(mask[mask_at]) : made);
    }
}

/* What pointwise_backward has written of a step, dgates and dh, += what comes through the operand,
 * whose gradient (rows, H) is given. */
KERNEL FN(operand_backward)(backward_step s, const real *doperand)
{
    const real scalars[] = SCALARS_OF(s);
    real *dh = (real *)s.dh;
    EACH(e, s.rows * s.hidden_size) {
        const int64_t b = quotient(e, s.hidden_size), u = e - b * s.hidden_size;
        storage *dgates = (storage *)s.dgates + b * s.dgates_row + u;
        real saved[MOST_PLANES], dpre[MOST_PLANES], prev[2], next[2], dprev[2] = {dh[e], zero};
        for (int gate = 0; gate < GATES; gate++)
            dpre[gate] = to_real(dgates[position_of(s.position, gate) * s.hidden_size]);
        backward_inputs in;
        load_backward(&in, &s, b, b < s.before_rows ? b : -1, b, u);
        numbers_of(saved, prev, next, &in, &s, b, u);
        cell_operand_backward(scalars, saved, prev, doperand[e], dpre, dprev);
        dh[e] = dprev[0];
        for (int gate = 0; gate < GATES; gate++)
            dgates[position_of(s.position, gate) * s.hidden_size] = to_storage(dpre[gate]);
    }
}
