; An arm of six links with its control laws (section 9.6); the mass of link B is assumed.
(add-body a :mass ma :parent-rotation-axis 2 :inertia-matrix #(a1 a2 a3))
(add-body b :mass mb :parent a :parent-rotation-axis 1 :cm-coordinates #(l1 0 0)
          :inertia-matrix #(b1 b2 b3))
(add-body c :mass mc :parent b :translate 2 :joint-coordinates #(l1 0 0) :inertia-matrix #(c1 c2 c3))
(add-body d :mass md :parent c :parent-rotation-axis 2 :cm-coordinates #(0 l5 0) :inertia-matrix #(d1 d2 d3))
(add-body e :mass me :parent d :parent-rotation-axis 1 :joint-coordinates #(0 l2 0)
          :cm-coordinates #(0 l6 0) :inertia-matrix #(e1 e2 e3))
(add-body f :mass mf :parent e :parent-rotation-axis 2 :cm-coordinates #(0 l3 0) :inertia-matrix #(f1 f2 f3))
(add-gravity :direction !"-[n2]")
(setf hand !"me*l6 + mf*l3")
(add-moment tau1 :direction [n2] :body1 a :magnitude !"-k1*(q(1) - arot) - k2*qp(1)")
(add-moment tau2 :direction [a1] :body1 b :body2 a
            :magnitude !"-(k3*(q(2) - brot) + k4*qp(2) + gees*(((mc + md)*q(3) + md*l5)*sin(q(2))
                          + #hand*(cos(q(5))*sin(q(2)) + cos(q(4))*sin(q(5))*cos(q(2)))
                          + (me + mf)*(q(3) + l2)*sin(q(2))))")
(add-moment tau3 :direction [d2] :body1 d :body2 c
            :magnitude !"gees*#hand*sin(q(2))*sin(q(4))*sin(q(5)) - k5*(q(4) - drot) - k6*qp(4)")
(add-moment tau4 :direction [e1] :body1 e :body2 d
            :magnitude !"-(k7*(q(5) - erot) + k8*qp(5)
                          + gees*#hand*(cos(q(2))*sin(q(5)) + sin(q(2))*cos(q(4))*cos(q(5))))")
(add-moment tau5 :direction [f2] :body1 f :body2 e :magnitude !"-k9*(q(6) - frot) - k10*qp(6)")
(add-line-force sigma :direction [c2] :point1 c0 :point2 b0
            :magnitude !"gees*(mc + md + me + mf)*cos(q(2)) - k11*(q(3) - cdisp) - k12*qp(3)")
(mks)
(set-defaults l1 .1 l2 .6 l3 .2 l5 .7 l6 .06 ma 9 mb 6 mc 4 md 1 me .6 mf .5 a2 .02
              b1 .06 b2 .01 b3 .05 c1 .4 c2 .01 c3 .4 d1 .0005 d2 .001 d3 .001
              e1 .0005 e2 .0002 e3 .0005 f1 .001 f2 .002 f3 .003)
(set-defaults k1 3 k2 5 k3 1 k4 3 k5 .3 k6 .6 k7 .3 k8 .6 k9 .25 k10 .25 k11 30 k12 41
              arot 1.0471975511966 brot 1.0471975511966 drot 1.0471975511966
              erot 1.0471975511966 frot 1.0471975511966 cdisp .1 step .002 stopt 10)
(add-coordinates-to-output)
