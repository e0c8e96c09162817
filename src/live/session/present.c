#include "live/session/present.h"

#include <stdlib.h>
#include <string.h>

enum status present_stages(const struct stream_session *stream, size_t choice,
                           struct stage_list *list)
{
    const struct live_chain *chain = &stream->chain;
    *list = (struct stage_list){.precision = chain->stages.precision, .tempo = chain->stages.tempo};
    list->stages = calloc(chain->stages.count + 1, sizeof *list->stages);
    if (!list->stages)
        return fail_memory("a preset");
    for (size_t i = 0; i < chain->stages.count; i++) {
        const struct stage *stage = &chain->stages.stages[i];
        bool chooses = chain->choice_count > 0 && i == chain->request.stage;
        list->stages[i] = *stage;
        list->stages[i].text = NULL;
        list->count++;
        TRY(live_controls_spec(&stream->controls, i,
                               live_chain_text(chain, i, chooses ? choice : 0),
                               &list->stages[i].text));
    }
    return STATUS_OK;
}

void present_stages_free(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->stages[i].text);
    free(list->stages);
}

void present_keep_to_cpu(struct convolver_settings *convolver)
{
    convolver->gpu = (struct gpu_settings){0};
    if (strcmp(convolver->backend, "direct") != 0)
        convolver->backend = "cpu";
}
